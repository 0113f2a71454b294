"""Skill-Aware Measurement: solver programs as vectors (R-Diverse, Sec. 3.2, Eq. 10)."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rdiverse_verl.embedding.encoder import Encoder, unit_rows
from rdiverse_verl.errors import DataError, StateError
from rdiverse_verl.skills.canonical import canonical_code

_CANONICAL_RULE = "canonical-1"


class SkillSpace:
    """Phi_SAM on programs: canonical code, encoder, and optionally a fixed reference mean taken off.

    General text encoders put all code into a narrow cone. Subtracting the mean vector of a calibration set spreads it
    out again; the mean is a constant of the space, never that of a batch, and `id` covers it.

    Args:
        encoder: any `Encoder`.
        centre_D: see `calibrate`; None for the encoder's own scale, as in the paper.
    """

    def __init__(self, encoder: Encoder, centre_D: np.ndarray | None = None) -> None:
        if centre_D is not None and np.shape(centre_D) != (encoder.dim,):
            raise DataError(f"centre has shape {np.shape(centre_D)}, encoder {encoder.id} has ({encoder.dim},)")
        self._encoder = encoder
        self._centre_D = np.zeros(encoder.dim) if centre_D is None else np.asarray(centre_D, dtype=np.float64)
        self.dim = encoder.dim
        centre = "none" if centre_D is None else centre_hash(centre_D)[:16]
        self.id = f"{encoder.id}/{_CANONICAL_RULE}/centre-{centre}"

    def vectors(self, codes: Sequence[str]) -> np.ndarray:
        """emb_N_D, float32, unit rows. Raises DataError for a program without canonical form; see `roles.coder`."""
        emb_N_D = self._encoder.encode([canonical_code(code) for code in codes])
        return unit_rows(emb_N_D - self._centre_D, (len(codes), self.dim), f"skill space {self.id}")


def calibrate(encoder: Encoder, programs: Sequence[str]) -> np.ndarray:
    """centre_D, float32: the mean vector of a calibration set of programs, one per skill that should be told apart."""
    if not programs:
        raise DataError("calibration needs at least one program")
    emb_N_D = encoder.encode([canonical_code(program) for program in programs])
    return emb_N_D.astype(np.float64).mean(axis=0).astype(np.float32)


def centre_hash(centre_D: np.ndarray) -> str:
    """SHA-256 of a centre's float32 bytes."""
    return hashlib.sha256(np.ascontiguousarray(centre_D, dtype="<f4").tobytes()).hexdigest()


def save_centre(path: str | Path, centre_D: np.ndarray) -> str:
    """Write a centre as .npy, whole or not at all, and return its hash."""
    path = Path(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    with draft.open("wb") as stream:
        np.save(stream, np.asarray(centre_D, dtype="<f4"), allow_pickle=False)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(draft, path)
    return centre_hash(centre_D)


def load_centre(path: str | Path, expected_hash: str | None = None) -> np.ndarray:
    """Read a centre; StateError if it is missing, damaged, or not the one that `expected_hash` names."""
    try:
        centre_D = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise StateError(f"centre {path} cannot be read ({error}); calibrate again or restore the file") from error
    if centre_D.ndim != 1 or not np.isfinite(centre_D).all():
        raise StateError(f"centre {path} is not one finite vector; calibrate again or restore the file")
    if expected_hash is not None and centre_hash(centre_D) != expected_hash:
        raise StateError(f"centre {path} has hash {centre_hash(centre_D)}, expected {expected_hash}; restore the file")
    return centre_D
