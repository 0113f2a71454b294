"""One token for each row of a batch: inverse-CDF sampling in float64, and the exact log-probability of the choice."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rdiverse_verl.cpu.options import SamplingOptions

# Batching moves a float64 log-probability by about 1e-15. On a grid of 2**-24, the resolution of float32 just below 1,
# such a change no longer shows; plain rounding to float32 would still show it close to 0, where float32 is finer.
LOGPROB_GRID = 2.0**-24


def sample_tokens(
    logits_R_V: Tensor, options: Sequence[SamplingOptions], uniforms_R: Sequence[float]
) -> tuple[list[int], list[float]]:
    """Choose a token for each of R rows over a vocabulary of V.

    The token is the inverse of the cumulative distribution, in order of token id, at the row's uniform number in
    [0, 1); at temperature 0 it is the largest logit. So a choice depends on its own row only.

    The log-probability is that of the chosen token under ``softmax(logits / temperature)`` over the full vocabulary,
    before top-k and top-p (at temperature 0 under ``softmax(logits)``). This is what verl's actor computes for the same
    tokens; vLLM's ``processed_logprobs``, verl's default there, is the same number whenever top-k and top-p are off.

    Args:
        logits_R_V: finite logits.
        options: one per row.
        uniforms_R: one number in [0, 1) per row.

    Returns:
        Token ids and natural log-probabilities (rounded to ``LOGPROB_GRID``), one per row.
    """
    temperatures_R1 = torch.tensor([[option.temperature or 1.0] for option in options], dtype=torch.float64)
    logprobs_R_V = torch.log_softmax(logits_R_V.double() / temperatures_R1, dim=-1)
    probs_R_V = _restrict(logprobs_R_V.exp(), options)
    cdf_R_V = probs_R_V.cumsum(dim=-1)
    totals_R1 = cdf_R_V[:, -1:]
    # A product rounded up to the total itself would point past the last token.
    targets_R1 = torch.minimum(
        torch.tensor(uniforms_R, dtype=torch.float64)[:, None] * totals_R1,
        torch.nextafter(totals_R1, torch.zeros_like(totals_R1)),
    )
    drawn_R = torch.searchsorted(cdf_R_V, targets_R1, right=True)[:, 0]
    greedy_R = torch.tensor([option.temperature == 0 for option in options])
    tokens_R = torch.where(greedy_R, logits_R_V.argmax(dim=-1), drawn_R)
    chosen_R = logprobs_R_V.gather(1, tokens_R[:, None])[:, 0]
    return tokens_R.tolist(), ((chosen_R / LOGPROB_GRID).round() * LOGPROB_GRID).tolist()


def _restrict(probs_R_V: Tensor, options: Sequence[SamplingOptions]) -> Tensor:
    """Set to 0 what top-k, and then top-p of what top-k left, take away; among equals the lower token id stays."""
    rows = [r for r, option in enumerate(options) if option.top_k > 0 or option.top_p < 1]
    if not rows:
        return probs_R_V
    vocab = probs_R_V.shape[1]
    top_k = torch.tensor([[options[r].top_k if options[r].top_k > 0 else vocab] for r in rows])
    top_p = torch.tensor([[options[r].top_p] for r in rows], dtype=torch.float64)
    sorted_probs, order = probs_R_V[rows].sort(dim=-1, descending=True, stable=True)
    sorted_probs = sorted_probs.masked_fill(torch.arange(vocab) >= top_k, 0.0)
    before = sorted_probs.cumsum(dim=-1) - sorted_probs
    # top_p = 1 must keep everything, whatever the rounding of the sum.
    cut = (before >= top_p * sorted_probs.sum(dim=-1, keepdim=True)) & (top_p < 1)
    kept = torch.zeros_like(sorted_probs).scatter_(1, order, sorted_probs.masked_fill(cut, 0.0))
    restricted_R_V = probs_R_V.clone()
    restricted_R_V[rows] = kept
    return restricted_R_V
