"""One remembered question and the hashes that identify it."""

import hashlib
import re
from dataclasses import dataclass

import numpy as np

from rdiverse_verl.errors import DataError

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, eq=False)
class MemoryRow:
    """A question of some iteration with its pseudo-label and skill vector (R-Diverse, Fig. 2 and Eq. 6).

    `answer` is the Solver's majority answer, `p_hat` its share in [0, 1], `code` the solver program, `vector` the
    program's unit vector, float32, shape (dim,).
    """

    question: str
    answer: str
    p_hat: float
    iteration: int
    code: str
    vector: np.ndarray

    @property
    def content_hash(self) -> str:
        """What makes two rows the same training item: question and answer."""
        return _digest(self.question, self.answer)

    @property
    def row_hash(self) -> str:
        """Every field, the vector bit by bit."""
        return _digest(
            self.question, self.answer, float(self.p_hat).hex(), str(self.iteration), self.code, self.blob.hex()
        )

    @property
    def blob(self) -> bytes:
        """The vector as little-endian float32."""
        return np.ascontiguousarray(self.vector, dtype="<f4").tobytes()


def check_row(row: MemoryRow, dim: int, where: str) -> None:
    """Raise DataError, naming `where`, unless the row can be remembered."""
    if np.shape(row.vector) != (dim,):
        raise DataError(f"{where}: vector has shape {np.shape(row.vector)}, the memory holds ({dim},)")
    if not abs(np.linalg.norm(np.asarray(row.vector, dtype=np.float64)) - 1) <= 1e-4:
        raise DataError(f"{where}: vector is not finite and of unit length")
    if not row.question or not row.answer:
        raise DataError(f"{where}: question and answer must not be empty")
    if _SURROGATE.search(row.question + row.answer + row.code):
        raise DataError(f"{where}: text holds half of a surrogate pair and cannot be written as UTF-8")
    if not 0 <= row.p_hat <= 1:
        raise DataError(f"{where}: p_hat is {row.p_hat}, not a share in [0, 1]")


def _digest(*fields: str) -> str:
    digest = hashlib.sha256()
    for field in fields:
        data = field.encode("utf-8")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
