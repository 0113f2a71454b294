"""What is known of one Challenger sample after it has been judged alone; the batch adds the rest."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Judged:
    """One row of ``reward_extra_info``. Text fields are empty where they do not apply."""

    invalid: str = ""  # why the sample is no proposal
    question: str = ""
    answer: str = ""  # the Challenger's own, which earns nothing
    label: str = ""  # the frozen Solver's majority answer
    p_hat: float = 0.0  # its share, where the sample is a proposal
    code: str = ""
    sam_failure: str = ""  # why the question has no program
    vector_D: np.ndarray | None = None  # float32, unit length
    p_max: float = 0.0  # to the frozen memory (Eq. 7)
    p_mean: float = 0.0  # (Eq. 8)
    memory_size: int = 0
    failure: str = ""  # what could not be asked or opened; the trainer ends the run with it

    @property
    def valid(self) -> bool:
        return not self.invalid

    @property
    def sam_ok(self) -> bool:
        return self.vector_D is not None

    def record(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}
