"""Vectors of texts longer than an encoder reads, and of all prefixes of a text for the price of one pass.

A text is cut into windows that the encoder reads whole; its vector is their mean, weighted by length and normalised.
The vector of a prefix is the running mean of its windows. This is not the vector of the prefix as one string: the
``exact`` mode gives that one, truncated at the encoder's limit, as the released codes of ExTra and DRA-GRPO have it.
"""

from collections.abc import Sequence

import numpy as np

from rdiverse_verl.embedding.encoder import Window, WindowedEncoder, unit_rows
from rdiverse_verl.errors import ConfigError, DataError

MODES = ("pool", "exact")


class LengthAwareEncoder:
    """An `Encoder` over another one that pools windows (``pool``) or encodes whole strings (``exact``)."""

    def __init__(self, encoder: WindowedEncoder, mode: str = "pool") -> None:
        if mode not in MODES:
            raise ConfigError(f"length mode {mode!r} is unknown; choose one of {MODES}")
        self._encoder = encoder
        self._mode = mode
        self.dim = encoder.dim
        self.id = f"{encoder.id}-pool" if mode == "pool" else encoder.id

    @property
    def truncated(self) -> int:
        """Distinct texts that were longer than the encoder reads: stays 0 when pooling."""
        return self._encoder.truncated

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """emb_N_D, float32, unit rows, of whole texts."""
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        return np.concatenate(self.encode_prefixes(texts, [[len(text)] for text in texts]))

    def encode_prefixes(self, texts: Sequence[str], ends: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """emb_P_D, float32, unit rows, of the prefixes ``text[:end]`` of each text.

        Args:
            ends: for each text, ascending character positions in 1 .. len(text).
        """
        for text, own in zip(texts, ends, strict=True):
            _check_ends(text, own)
        if self._mode == "exact":
            emb_P_D = self._vectors([text[:end] for text, own in zip(texts, ends, strict=True) for end in own])
            last = np.cumsum([len(own) for own in ends], dtype=np.int64)
            return [emb_P_D[end - len(own) : end] for end, own in zip(last, ends, strict=True)]
        return self._pooled(texts, ends)

    def _pooled(self, texts: Sequence[str], ends: Sequence[Sequence[int]]) -> list[np.ndarray]:
        windows: list[Window] = []
        closing: list[np.ndarray] = []  # for each text, how many of its windows each prefix has
        for text, own in zip(texts, ends, strict=True):
            steps = [self._encoder.windows(text[a:b]) for a, b in _steps(own)]
            windows += [window for step in steps for window in step]
            closing.append(np.cumsum([len(step) for step in steps], dtype=np.int64))
        emb_W_D = self._vectors([window.text for window in windows]).astype(np.float64)
        emb_W_D *= np.array([window.tokens for window in windows], dtype=np.float64).reshape(-1, 1)

        vectors, start = [], 0
        for closing_P in closing:
            count = closing_P[-1] if len(closing_P) else 0
            sum_W_D = np.cumsum(emb_W_D[start : start + count], axis=0)
            vectors.append(unit_rows(sum_W_D[closing_P - 1], (len(closing_P), self.dim), self.id))
            start += count
        return vectors

    def _vectors(self, texts: list[str]) -> np.ndarray:
        return unit_rows(self._encoder.encode(texts), (len(texts), self.dim), self._encoder.id)


def _steps(ends: Sequence[int]) -> list[tuple[int, int]]:
    """Start and end of what each prefix has more than the one before."""
    return list(zip((0, *ends), ends, strict=False))


def _check_ends(text: str, ends: Sequence[int]) -> None:
    if any(start >= end for start, end in _steps(ends)) and not (text == "" and list(ends) == [0]):
        raise DataError(f"prefix ends {list(ends)[:8]} do not ascend from 1")
    if len(ends) and ends[-1] > len(text):
        raise DataError(f"a prefix of {ends[-1]} characters of a text of {len(text)}")
