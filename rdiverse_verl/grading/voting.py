"""Majority vote over answers, by meaning and independent of their order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from rdiverse_verl.grading.compare import Match
from rdiverse_verl.grading.matching import match_fully
from rdiverse_verl.grading.pool import Failed


@dataclass(frozen=True)
class Vote:
    """The label (None if nobody answered), its share of all votes, and the classes as indices into the votes.

    Classes are listed by size, then by first seen; non-answers are in none of them.
    """

    label: str | None
    share: float
    classes: tuple[tuple[int, ...], ...]


def vote(answers: Sequence[str | None]) -> Vote:
    """Group extracted answers by equivalence; the largest class wins, the first seen among equals.

    A None (or blank) is a sample without an answer: it counts in the denominator and is never a label. Distinct forms
    are compared once a pair. Equal forms are one class, closed under transitivity. Forms that merely leave out a label
    (``5`` beside ``5 cm``) join unless that would put answers known to differ (``5 cm``, ``5 km``) into one class.
    """
    places: dict[str, list[int]] = {}
    for place, answer in enumerate(answers):
        if answer is not None and answer.strip():
            places.setdefault(answer, []).append(place)
    classes = [tuple(sorted(place for form in group for place in places[form])) for group in _group(list(places))]
    classes.sort(key=lambda group: (-len(group), group[0]))
    if not classes:
        return Vote(None, 0.0, ())
    return Vote(answers[classes[0][0]], len(classes[0]) / len(answers), tuple(classes))


def _group(forms: list[str]) -> list[list[str]]:
    matches = {(a, b): _match(forms[a], forms[b]) for a, b in combinations(range(len(forms)), 2)}
    strict = _components(len(forms), (pair for pair, match in matches.items() if match is Match.SAME))
    loose = _components(
        len(forms), (pair for pair, match in matches.items() if match in (Match.SAME, Match.COMPATIBLE))
    )
    conflicts = {loose[a] for (a, b), match in matches.items() if match is Match.DIFFERENT and loose[a] == loose[b]}
    groups: dict[tuple[int, int], list[str]] = {}
    for place, form in enumerate(forms):
        root = loose[place]
        groups.setdefault((root, strict[place] if root in conflicts else root), []).append(form)
    return list(groups.values())


def _components(size: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """The root of each node's connected component (union-find)."""
    parent = list(range(size))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    for a, b in edges:
        parent[root(a)] = root(b)
    return [root(node) for node in range(size)]


def _match(a: str, b: str) -> Match:
    try:
        return match_fully(a, b)[0]
    except Failed:
        return Match.UNKNOWN
