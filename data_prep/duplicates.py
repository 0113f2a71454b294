"""Questions that are the same but for white space, case and how their mathematics is delimited."""

import re
import unicodedata
from dataclasses import dataclass, field

from data_prep.problem import Problem
from rdiverse_verl.grading import equivalent

_DELIMITERS = re.compile(r"\\[()\[\]]|\$")


def normal_question(question: str) -> str:
    r"""Equal for questions that differ only so: "Find $x$." and "find  \(x\)." """
    plain = _DELIMITERS.sub("", unicodedata.normalize("NFKC", question))
    return "".join(plain.split()).casefold()


@dataclass
class Seen:
    """The questions met so far, with their golds."""

    duplicates: int = 0
    conflicts: list[tuple[str, str, str]] = field(default_factory=list)  # question, first gold, other gold
    _golds: dict[str, list[str]] = field(default_factory=dict)
    _raw: set[tuple[str, str]] = field(default_factory=set)

    def add(self, problem: Problem) -> bool:
        """Whether this problem is new. The same question with another gold is new, and noted as a conflict."""
        if (problem.question, problem.gold) in self._raw:
            self.duplicates += 1
            return False
        self._raw.add((problem.question, problem.gold))
        golds = self._golds.setdefault(normal_question(problem.question), [])
        if any(gold == problem.gold or equivalent(gold, problem.gold) for gold in golds):
            self.duplicates += 1
            return False
        if golds:
            self.conflicts.append((problem.question, golds[0], problem.gold))
        golds.append(problem.gold)
        return True
