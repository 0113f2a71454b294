"""What grading says about one prediction."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["correct", "wrong", "unparsable", "timeout", "error"]
KINDS: tuple[Kind, ...] = ("correct", "wrong", "unparsable", "timeout", "error")


@dataclass(frozen=True)
class Verdict:
    """The judgement, the answer it is about (None if the response has none) and the layer that decided.

    ``path`` is one of extract, gold, text, screen, exact, pool.
    """

    kind: Kind
    answer: str | None
    path: str

    @property
    def correct(self) -> bool:
        """True for the one kind that earns the reward."""
        return self.kind == "correct"
