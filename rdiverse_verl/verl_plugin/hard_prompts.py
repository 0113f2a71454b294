"""The prefixes of the rollouts of hard prompts: where they can be cut, how sure the policy was, what they say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import transfer_queue as tq
from transfer_queue import KVBatchMeta
from verl.utils import tensordict_utils as tu

from rdiverse_verl.algorithms.prefix_entropy import ContextEntropy, prefix_mean_entropies
from rdiverse_verl.algorithms.prefix_memory import Prefixes, make_prefixes
from rdiverse_verl.algorithms.steps import step_cuts
from rdiverse_verl.verl_plugin.embedder import Embedder
from rdiverse_verl.verl_plugin.prompt_rows import read_prefix
from rdiverse_verl.verl_plugin.row_fields import SOURCE
from rdiverse_verl.verl_plugin.scored_rows import ScoredRows
from rdiverse_verl.verl_plugin.settings import Regeneration


@dataclass(frozen=True, eq=False)
class Rollout:
    """One wrong answer; ``entropy_T`` and ``mask_T`` are of its ``response_T``, which continues ``prefix_ids``."""

    prefix_ids: list[int]
    prefix_mte: float
    response_T: np.ndarray
    mask_T: np.ndarray
    entropy_T: np.ndarray

    @property
    def token_ids(self) -> list[int]:
        return [*self.prefix_ids, *self.response_T.tolist()]


@dataclass(frozen=True, eq=False)
class HardPrompt:
    """A prompt of which no rollout was correct."""

    root: str
    source: str
    rollouts: list[Rollout]


def read_hard_prompts(batch: KVBatchMeta, rows: ScoredRows) -> list[HardPrompt]:
    """Copied from the data queue, which verl clears after the step; of hard groups only."""
    groups = rows.groups
    members_B = [members[members >= 0].tolist() for members in groups.member_G_B.T[rows.hard_B()]]
    wanted = [row for members in members_B for row in members]
    if not wanted:
        return []
    data = tq.kv_batch_get(
        keys=[batch.keys[row] for row in wanted],
        partition_id=batch.partition_id,
        select_fields=["responses", "response_mask", "entropy", SOURCE],
    )
    sources = [str(tu.unwrap_non_tensor_data(source)) for source in data[SOURCE]]
    tensors = [[row.numpy() for row in data[name].unbind()] for name in ("responses", "response_mask", "entropy")]
    rollouts = [
        Rollout(*read_prefix(rows.prefix_N[row]), response, mask.astype(bool), entropy)
        for row, response, mask, entropy in zip(wanted, *tensors, strict=True)
    ]
    prompts, start = [], 0
    for members in members_B:
        own = rollouts[start : start + len(members)]
        prompts.append(HardPrompt(rows.root_N[members[0]], sources[start], own))
        start += len(members)
    return prompts


@dataclass(frozen=True, eq=False)
class Extracted:
    """Prefixes of each prompt, and the rollouts that give none: with no place to cut, or no vectors."""

    prefixes: list[Prefixes]
    without_cut: int = 0
    without_vectors: int = 0


class PrefixExtractor:
    """Cuts the rollouts of hard prompts into steps and measures every prefix (ExTra, Alg. 1 l. 20-22)."""

    def __init__(self, settings: Regeneration, tokenizer: Any, embedder: Embedder) -> None:
        self.settings = settings
        self._tokenizer = tokenizer
        self._embedder = embedder
        self._piece: dict[int, str] = {}

    def extract(self, prompts: Sequence[HardPrompt], step: int) -> Extracted:
        """One request to the encoder serves all."""
        rollouts = [rollout for prompt in prompts for rollout in prompt.rollouts]
        cuts = [self._cuts(rollout) for rollout in rollouts]
        mtes = _entropies(rollouts, cuts)
        texts, ends = zip(*map(self._text, rollouts, cuts), strict=True) if rollouts else ((), ())
        asked = [place for place, cut_P in enumerate(cuts) if len(cut_P)]
        answers = self._embedder.embed([texts[i] for i in asked], [ends[i] for i in asked]) if asked else []
        vectors = dict(zip(asked, answers, strict=True))
        found, start = [], 0
        for prompt in prompts:
            own = [i for i in range(start, start + len(prompt.rollouts)) if i in vectors and not vectors[i].fault]
            start += len(prompt.rollouts)
            found.append(_prefixes([(rollouts[i], cuts[i], mtes[i], vectors[i].emb_P_D) for i in own], step))
        faults = sum(bool(answer.fault) for answer in answers)
        return Extracted(found, without_cut=len(rollouts) - len(asked), without_vectors=faults)

    def _cuts(self, rollout: Rollout) -> np.ndarray:
        s = self.settings
        pieces = [self._decoded(token) for token in rollout.token_ids]
        cut_P = step_cuts(pieces, min_tokens=s.min_step_tokens, max_cuts=s.max_cuts, max_share=s.max_share)
        cut_P = cut_P[cut_P > len(rollout.prefix_ids)]  # what was given already is no new prefix
        readable = np.array(["".join(pieces[:cut]).strip() != "" for cut in cut_P], dtype=bool)
        return cut_P[readable]

    def _decoded(self, token: int) -> str:
        if token not in self._piece:
            self._piece[token] = self._tokenizer.decode([token], skip_special_tokens=True)
        return self._piece[token]

    def _text(self, rollout: Rollout, cut_P: np.ndarray) -> tuple[str, list[int]]:
        """The text up to the last cut, and where each prefix ends in it; decoded step by step, as characters may
        be spread over tokens but not over a line's end."""
        ids, text, ends = rollout.token_ids, "", []
        for start, end in zip([0, *cut_P[:-1].tolist()], cut_P.tolist(), strict=True) if len(cut_P) else ():
            text += self._tokenizer.decode(ids[start:end], skip_special_tokens=True)
            ends.append(len(text))
        return text, ends


def _entropies(rollouts: Sequence[Rollout], cuts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Mean token entropy of each prefix, over the given prefix and the policy's own tokens (Eq. 3)."""
    if not rollouts:
        return []
    given_N = np.array([len(rollout.prefix_ids) for rollout in rollouts])
    sum_N = given_N * np.array([rollout.prefix_mte for rollout in rollouts])
    counts = [len(cut_P) for cut_P in cuts]
    row_P = np.repeat(np.arange(len(rollouts)), counts)
    mte_P = prefix_mean_entropies(
        np.concatenate([rollout.entropy_T for rollout in rollouts]),
        np.concatenate([rollout.mask_T for rollout in rollouts]),
        np.array([len(rollout.response_T) for rollout in rollouts]),
        row_P,
        np.concatenate(cuts) - given_N[row_P],
        ContextEntropy(sum_N, given_N),
    )
    return np.split(mte_P, np.cumsum(counts)[:-1])


def _prefixes(parts: list[tuple[Rollout, np.ndarray, np.ndarray, np.ndarray]], step: int) -> Prefixes:
    counts = [len(cut_P) for _, cut_P, _, _ in parts]
    if not parts:
        return make_prefixes([], np.empty(0), np.empty(0), np.empty(0), np.empty((0, 0)), step)
    return make_prefixes(
        [rollout.token_ids for rollout, _, _, _ in parts],
        np.repeat(np.arange(len(parts)), counts),
        np.concatenate([cut_P for _, cut_P, _, _ in parts]),
        np.concatenate([mte_P for _, _, mte_P, _ in parts]),
        np.concatenate([emb_P_D for _, _, _, emb_P_D in parts]),
        step,
    )
