"""What grading may cost."""

import os
from dataclasses import dataclass

from rdiverse_verl.errors import ConfigError


@dataclass(frozen=True)
class Limits:
    """``seconds`` of work for a comparison, ``mebibytes`` of address space for a worker, ``workers`` for a process.

    ``from_environment`` reads RDIVERSE_GRADING_SECONDS, _MEBIBYTES and _WORKERS, which reach every Ray worker.
    """

    seconds: float = 2.0
    mebibytes: int = 1024
    workers: int = 2

    def __post_init__(self) -> None:
        if self.seconds <= 0 or self.mebibytes < 512 or self.workers < 1:
            raise ConfigError(f"grading needs seconds > 0, mebibytes >= 512 and workers >= 1, not {self}")

    @classmethod
    def from_environment(cls) -> "Limits":
        """The defaults, overridden by the environment."""
        try:
            return cls(
                seconds=float(os.environ.get("RDIVERSE_GRADING_SECONDS", cls.seconds)),
                mebibytes=int(os.environ.get("RDIVERSE_GRADING_MEBIBYTES", cls.mebibytes)),
                workers=int(os.environ.get("RDIVERSE_GRADING_WORKERS", cls.workers)),
            )
        except ValueError as error:
            raise ConfigError(f"RDIVERSE_GRADING_*: {error}") from error
