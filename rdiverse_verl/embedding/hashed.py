"""An encoder without weights: texts that share words are close. For tests, never for training."""

import hashlib
from collections.abc import Sequence

import numpy as np

from rdiverse_verl.embedding.encoder import Window, unit_rows


class HashEncoder:
    """An `Encoder` that adds up a fixed random sign vector for each word of a text, up to `limit` words."""

    def __init__(self, dim: int = 64, limit: int = 256) -> None:
        self.dim = dim
        self.id = f"hash-{dim}d"
        self.truncated = 0
        self._limit = limit

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """emb_N_D, float32, unit rows; a text without words has a vector of its own."""
        words = [text.split() for text in texts]
        self.truncated += sum(len(own) > self._limit for own in words)
        raw = [sum((self._signs(word) for word in own[: self._limit]), self._signs("")) for own in words]
        return unit_rows(np.array(raw).reshape(len(texts), self.dim), (len(texts), self.dim), self.id)

    def windows(self, text: str) -> list[Window]:
        """Runs of at most `limit` words, joined by single spaces."""
        words = text.split()
        runs = [words[start : start + self._limit] for start in range(0, len(words), self._limit)]
        return [Window(" ".join(run), len(run)) for run in runs] or [Window(text, 1)]

    def _signs(self, word: str) -> np.ndarray:
        digest = hashlib.blake2b(word.encode(), digest_size=32).digest()
        seed = np.frombuffer(digest, dtype=np.uint32)
        return np.random.default_rng(seed).choice([-1.0, 1.0], size=self.dim)
