"""Majority vote over answers, by meaning and independent of their order."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Vote:
    """The label (None if nobody answered), its share of all votes, and the classes as indices into the votes.

    Classes are listed by size, then by first seen; non-answers are in none of them.
    """

    label: str | None
    share: float
    classes: tuple[tuple[int, ...], ...]


def vote(answers: Sequence[str | None]) -> Vote:
    """Group answers by equivalence; the largest class wins, the first seen among equals.

    A None is a sample without an answer: it counts in the denominator and is never a label.
    """
    from rdiverse_verl.grading.grader import equivalent

    forms: dict[str, list[int]] = {}
    for place, answer in enumerate(answers):
        if answer is not None and answer.strip():
            forms.setdefault(answer, []).append(place)
    classes: list[list[str]] = []
    for form in forms:
        same = [group for group in classes if any(equivalent(form, other) for other in group)]
        merged = [member for group in same for member in group] + [form]
        classes = [group for group in classes if group not in same] + [merged]
    places = [tuple(sorted(place for form in group for place in forms[form])) for group in classes]
    places.sort(key=lambda group: (-len(group), group[0]))
    if not places:
        return Vote(None, 0.0, ())
    return Vote(answers[places[0][0]], len(places[0]) / len(answers), tuple(places))
