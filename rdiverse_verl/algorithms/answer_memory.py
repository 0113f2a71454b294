"""The last few correct answers of each prompt, as vectors or as tokens (ExTra, M_r of Alg. 1 l. 13, App. B.3)."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rdiverse_verl.algorithms.ragged import pack, unpack
from rdiverse_verl.errors import ConfigError, StateError


class AnswerMemory:
    """Up to `per_root` one-dimensional arrays for each root prompt, the oldest leaving first.

    A guided prompt has the root of the prompt it continues. Vectors are kept as float16, token ids as int32.
    """

    def __init__(self, per_root: int = 6, dtype: np.dtype | type = np.float16) -> None:
        if per_root < 1:
            raise ConfigError(f"a memory of {per_root} answers a prompt remembers nothing")
        self._per_root = per_root
        self._dtype = np.dtype(dtype)
        self._answers: dict[str, deque[np.ndarray]] = {}

    def __len__(self) -> int:
        """Answers remembered, over all prompts."""
        return sum(len(answers) for answers in self._answers.values())

    def add(self, root: str, answers: Iterable[np.ndarray]) -> None:
        """Remember answers, the last one as the most recent."""
        for answer in answers:
            kept = self._answers.setdefault(root, deque(maxlen=self._per_root))
            kept.append(np.array(answer, dtype=self._dtype))

    def get(self, root: str) -> list[np.ndarray]:
        """What is remembered of a prompt, oldest first."""
        return list(self._answers.get(root, ()))

    def vectors(self, roots: Sequence[str], dim: int) -> tuple[np.ndarray, np.ndarray]:
        """memory_B_M_D, float32 unit rows, and remembered_B_M, of the prompts, oldest first."""
        memory_B_M_D = np.zeros((len(roots), self._per_root, dim), dtype=np.float32)
        remembered_B_M = np.zeros(memory_B_M_D.shape[:2], dtype=bool)
        for b, root in enumerate(roots):
            for m, vector in enumerate(self._answers.get(root, ())):
                memory_B_M_D[b, m] = vector
                remembered_B_M[b, m] = True
        norm_B_M_1 = np.linalg.norm(memory_B_M_D, axis=2, keepdims=True)
        return memory_B_M_D / np.where(norm_B_M_1 > 0, norm_B_M_1, 1), remembered_B_M

    def state(self) -> dict[str, Any]:
        """Lists and arrays that `restore` turns into an equal memory."""
        pool, length_K = pack([a for answers in self._answers.values() for a in answers], self._dtype)
        count_R = np.array([len(answers) for answers in self._answers.values()], dtype=np.int64)
        return {"roots": list(self._answers), "count": count_R, "length": length_K, "pool": pool}

    def restore(self, state: dict[str, Any]) -> None:
        """Become the memory whose `state` this is. Under a smaller `per_root` the most recent answers are kept."""
        if state["pool"].dtype != self._dtype:
            raise StateError(f"the saved answers are {state['pool'].dtype}, this memory holds {self._dtype}")
        answers = iter(unpack(state["pool"], state["length"]))
        self._answers = {}
        for root, count in zip(state["roots"], state["count"], strict=True):
            self.add(root, [next(answers) for _ in range(count)])
