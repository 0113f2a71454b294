"""The scored prefixes of each hard prompt (ExTra, M_p of Alg. 1 l. 22, App. B.5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rdiverse_verl.algorithms.ragged import pack, unpack
from rdiverse_verl.errors import ConfigError, DataError


@dataclass(frozen=True, eq=False)
class Prefixes:
    """P prefixes of the rollouts of one prompt, oldest first. Prefixes of one rollout share its tokens.

    Attributes:
        rollouts: int32 token ids of each rollout, at least as long as its longest prefix.
        rollout_P: which rollout a prefix is of. length_P: its tokens.
        mte_P: float64, mean token entropy in nats. emb_P_D: float16, unit rows.
        step_P: int64, the training step it was sampled at.
    """

    rollouts: tuple[np.ndarray, ...]
    rollout_P: np.ndarray
    length_P: np.ndarray
    mte_P: np.ndarray
    emb_P_D: np.ndarray
    step_P: np.ndarray

    def __len__(self) -> int:
        return len(self.length_P)

    def token_ids(self, place: int) -> list[int]:
        """Token ids of one prefix."""
        return self.rollouts[self.rollout_P[place]][: self.length_P[place]].tolist()

    def unit_emb_P_D(self) -> np.ndarray:
        """float32 unit rows: what float16 rounded away is normalised again."""
        emb_P_D = self.emb_P_D.astype(np.float32)
        return emb_P_D / np.linalg.norm(emb_P_D, axis=1, keepdims=True)

    def take(self, keep: np.ndarray) -> "Prefixes":
        """The prefixes at the given places or flags, with the rollouts that they need, cut to what they need."""
        rollout_P, length_P = self.rollout_P[keep], self.length_P[keep]
        used_R, new_P = np.unique(rollout_P, return_inverse=True)
        longest_R = np.zeros(len(used_R), dtype=np.int64)
        np.maximum.at(longest_R, new_P, length_P)
        rollouts = tuple(self.rollouts[r][:longest].copy() for r, longest in zip(used_R, longest_R, strict=True))
        return Prefixes(rollouts, new_P, length_P, self.mte_P[keep], self.emb_P_D[keep], self.step_P[keep])


def make_prefixes(
    rollouts: Sequence[Sequence[int] | np.ndarray],
    rollout_P: np.ndarray,
    length_P: np.ndarray,
    mte_P: np.ndarray,
    emb_P_D: np.ndarray,
    step: int,
) -> Prefixes:
    """Prefixes of one training step in the types they are kept in. Raises DataError for a prefix without a rollout."""
    tokens = tuple(np.array(rollout, dtype=np.int32) for rollout in rollouts)
    rollout_P, length_P = np.asarray(rollout_P, dtype=np.int64), np.asarray(length_P, dtype=np.int64)
    for place, (rollout, length) in enumerate(zip(rollout_P, length_P, strict=True)):
        if not 0 <= rollout < len(tokens) or not 0 < length <= len(tokens[rollout]):
            raise DataError(f"prefix {place} claims {length} tokens of rollout {rollout} of {len(tokens)}")
    mte_P, emb_P_D = np.asarray(mte_P, dtype=np.float64), np.asarray(emb_P_D, dtype=np.float16)
    return Prefixes(tokens, rollout_P, length_P, mte_P, emb_P_D, np.full(len(length_P), step))


def join(older: Prefixes, newer: Prefixes) -> Prefixes:
    """All prefixes of two sets of the same prompt."""
    return Prefixes(
        older.rollouts + newer.rollouts,
        np.concatenate([older.rollout_P, newer.rollout_P + len(older.rollouts)]),
        np.concatenate([older.length_P, newer.length_P]),
        np.concatenate([older.mte_P, newer.mte_P]),
        np.concatenate([older.emb_P_D, newer.emb_P_D]),
        np.concatenate([older.step_P, newer.step_P]),
    )


class PrefixMemory:
    """Up to `per_root` prefixes for each root prompt, the oldest leaving first.

    `max_age` is in training steps: entropies of an older policy do not compare with those of the present one. None
    keeps prefixes whatever their age.
    """

    def __init__(self, per_root: int = 128, max_age: int | None = None) -> None:
        if per_root < 1 or (max_age is not None and max_age < 0):
            raise ConfigError(f"a prefix memory needs per_root >= 1 and max_age >= 0, not {per_root} and {max_age}")
        self._per_root = per_root
        self._max_age = max_age
        self._prefixes: dict[str, Prefixes] = {}

    def __len__(self) -> int:
        """Prefixes remembered, over all prompts."""
        return sum(len(prefixes) for prefixes in self._prefixes.values())

    def add(self, root: str, prefixes: Prefixes) -> None:
        """Remember prefixes of a prompt, the last ones as the most recent."""
        if not len(prefixes):
            return
        known = self._prefixes.get(root)
        together = prefixes if known is None else join(known, prefixes)
        self._prefixes[root] = together.take(np.arange(len(together))[-self._per_root :])

    def get(self, root: str, step: int) -> Prefixes | None:
        """What is remembered of a prompt and not too old at `step`, oldest first; None if nothing is."""
        prefixes = self._prefixes.get(root)
        if prefixes is None or self._max_age is None:
            return prefixes
        fresh_P = prefixes.step_P >= step - self._max_age
        return prefixes.take(fresh_P) if fresh_P.any() else None

    def forget_old(self, step: int) -> int:
        """Drop what is too old at `step`, and say how many prefixes that were."""
        before = len(self)
        fresh = {root: self.get(root, step) for root in self._prefixes}
        self._prefixes = {root: prefixes for root, prefixes in fresh.items() if prefixes is not None}
        return before - len(self)

    def state(self) -> dict[str, Any]:
        """Lists and arrays that `restore` turns into an equal memory."""
        kept = list(self._prefixes.values())
        tokens, length_K = pack([rollout for p in kept for rollout in p.rollouts], np.int32)
        return {
            "roots": list(self._prefixes),
            "rollouts": np.array([len(p.rollouts) for p in kept], dtype=np.int64),
            "prefixes": np.array([len(p) for p in kept], dtype=np.int64),
            "tokens": tokens,
            "token_length": length_K,
            "rollout": pack([p.rollout_P for p in kept], np.int64)[0],
            "length": pack([p.length_P for p in kept], np.int64)[0],
            "mte": pack([p.mte_P for p in kept], np.float64)[0],
            "emb": np.concatenate([p.emb_P_D for p in kept]) if kept else np.empty((0, 0), dtype=np.float16),
            "step": pack([p.step_P for p in kept], np.int64)[0],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Become the memory whose `state` this is."""
        rollouts = unpack(state["tokens"], state["token_length"])
        rollout_end_R, prefix_end_R = np.cumsum(state["rollouts"]), np.cumsum(state["prefixes"])
        self._prefixes = {}
        for r, root in enumerate(state["roots"]):
            own = slice(prefix_end_R[r] - state["prefixes"][r], prefix_end_R[r])
            self._prefixes[root] = Prefixes(
                tuple(rollouts[rollout_end_R[r] - state["rollouts"][r] : rollout_end_R[r]]),
                *(state[name][own].copy() for name in ("rollout", "length", "mte", "emb", "step")),
            )
