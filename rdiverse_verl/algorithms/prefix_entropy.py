"""Mean token entropy of every prefix of every response at once (ExTra, Eq. 3)."""

from dataclasses import dataclass

import numpy as np

from rdiverse_verl.errors import DataError

_LARGEST = 1e3  # nats: no vocabulary has as much, and NaN compares false
_GRID = 2.0**32  # integer sums: exact, so that a prefix's mean does not depend on the responses before it


@dataclass(frozen=True)
class ContextEntropy:
    """What a response continues: the sum of token entropies, in nats, and the tokens, of the prefix given to it."""

    sum_N: np.ndarray
    tokens_N: np.ndarray


def prefix_mean_entropies(
    entropy_T: np.ndarray,
    mask_T: np.ndarray,
    length_N: np.ndarray,
    row_P: np.ndarray,
    cut_P: np.ndarray,
    context: ContextEntropy | None = None,
) -> np.ndarray:
    """Mean entropy of the first cut_P[p] tokens of response row_P[p], over the tokens whose mask is set.

    Args:
        entropy_T: entropies in nats of all responses, one after the other without padding.
        mask_T: which tokens the policy wrote.
        length_N: tokens of each response; they add up to T.
        row_P, cut_P: the prefixes; 0 <= cut <= length.
        context: for responses that continue a given prefix, so that the mean runs over prefix and suffix.

    Returns:
        mte_P, float64, in nats; NaN where a prefix has no masked token or an entropy that cannot be one.
    """
    entropy_T, mask_T = np.asarray(entropy_T), np.asarray(mask_T, dtype=bool)
    length_N, row_P, cut_P = (np.asarray(values, dtype=np.int64) for values in (length_N, row_P, cut_P))
    if not len(entropy_T) == len(mask_T) == length_N.sum():
        raise DataError(f"{len(entropy_T)} entropies and {len(mask_T)} flags for {length_N.sum()} response tokens")
    outside = np.flatnonzero((cut_P < 0) | (cut_P > length_N[row_P]))
    if outside.size:
        row, cut = row_P[outside[0]], cut_P[outside[0]]
        raise DataError(f"prefix of {cut} tokens of response {row}, which has {length_N[row]}")

    start_P = (np.cumsum(length_N) - length_N)[row_P]
    end_P = start_P + cut_P
    skipped, broken = np.flatnonzero(~mask_T), np.flatnonzero(mask_T & ~(np.abs(entropy_T) < _LARGEST))
    before_T = np.zeros(len(entropy_T) + 1, dtype=np.int64)
    with np.errstate(invalid="ignore"):  # of the broken ones, which count as 0
        np.multiply(entropy_T, _GRID, out=before_T[1:], casting="unsafe")
    before_T[1 + skipped], before_T[1 + broken] = 0, 0
    np.cumsum(before_T, out=before_T)
    sum_P = (before_T[end_P] - before_T[start_P]) / _GRID
    count_P = cut_P - _places_between(skipped, start_P, end_P)
    if context is not None:
        sum_P = sum_P + np.asarray(context.sum_N)[row_P]
        count_P = count_P + np.asarray(context.tokens_N)[row_P]
    undefined_P = (_places_between(broken, start_P, end_P) > 0) | (count_P == 0)
    return np.where(undefined_P, np.nan, sum_P / np.maximum(count_P, 1))


def _places_between(places: np.ndarray, start_P: np.ndarray, end_P: np.ndarray) -> np.ndarray:
    """How many of the ascending places lie in start .. end - 1."""
    return np.searchsorted(places, end_P) - np.searchsorted(places, start_P)
