"""What the rest of the package asks of a text encoder."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from rdiverse_verl.errors import DataError

_SHORTEST = 1e-6


class Encoder(Protocol):
    """Turns texts into unit vectors.

    `id` names the vector space: two encoders with equal ids give comparable vectors.
    """

    id: str
    dim: int

    @property
    def truncated(self) -> int:
        """How many distinct texts so far were longer than the encoder reads."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """emb_N_D, float32, unit rows. Raises DataError for a vector that is not finite, zero or of another width."""


class Window(NamedTuple):
    """A stretch of a text that an encoder reads whole, and its length in the encoder's tokens."""

    text: str
    tokens: int


class WindowedEncoder(Encoder, Protocol):
    """An encoder that can say how a text must be cut so that nothing of it is truncated."""

    def windows(self, text: str) -> list[Window]:
        """At least one window; together they cover the text."""


def load_encoder(name_or_path: str, device: str = "cpu", prompt: str = "") -> WindowedEncoder:
    """A Sentence-Transformers encoder from a local folder or a model name (see `embedding.sentence`), or ``hash``.

    ``hash`` needs no weights: for tests of what is built around an encoder. `prompt` stands before every text, where a
    model was trained with a task prefix.
    """
    if name_or_path == "hash":
        from rdiverse_verl.embedding.hashed import HashEncoder

        return HashEncoder()
    from rdiverse_verl.embedding.sentence import SentenceEncoder

    return SentenceEncoder(name_or_path, device, prompt)


def unit_rows(raw_N_D: np.ndarray, shape: tuple[int, int], source: str) -> np.ndarray:
    """Normalise vectors to float32 unit rows, after checking what `source` returned against the expected shape."""
    raw_N_D = np.asarray(raw_N_D, dtype=np.float64)
    if raw_N_D.shape != shape:
        raise DataError(f"{source} returned vectors of shape {raw_N_D.shape}, expected {shape}")
    norm_N = np.linalg.norm(raw_N_D, axis=1)
    bad = np.flatnonzero(~(np.isfinite(norm_N) & (norm_N > _SHORTEST)))
    if bad.size:
        raise DataError(f"{source} returned a vector of length {norm_N[bad[0]]} for text {bad[0]} of {shape[0]}")
    return (raw_N_D / norm_N[:, None]).astype(np.float32)
