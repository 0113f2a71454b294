"""The policy: when two answers mean the same. docs/grading.md states it as a table.

Only leaves need mathematics. It is asked of an ``Algebra``: first the exact field, then, in a worker, symbols.
"""

import re
from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from rdiverse_verl.grading.answer import Choice, Interval, Leaf, Matrix, Node, Relation, Several, Words
from rdiverse_verl.grading.reading import as_interval


class Match(Enum):
    """SAME is equality. COMPATIBLE: one side leaves out a label that the other gives, such as a unit or a name."""

    SAME = 1
    COMPATIBLE = 2
    UNKNOWN = 3
    DIFFERENT = 4


class Algebra(Protocol):
    """Decides about expressions; None where it cannot."""

    def equal(self, a: str, b: str) -> bool | None:
        """Whether a = b."""

    def multiple(self, a: str, b: str) -> int | None:
        """The sign of the constant c != 0 with a = c b; 0 if there is none."""


# Never evaluated, so that a restated problem does not count as its solution: they match only when written alike.
_UNEVALUATED = ("\\int", "\\sum", "\\prod", "\\lim", "\\iint", "\\oint", "\\bigcup", "\\bigcap")
_DIGITS_APART = re.compile(r"\d \d")
_BLANK = re.compile(r"(?<!\d) | (?!\d)")


def compare(a: Node, b: Node, algebra: Algebra) -> Match:
    """How two answers match. Symmetric."""
    if a == b:
        return Match.SAME
    if isinstance(a, Choice) or isinstance(b, Choice):
        return _choices(a, b, algebra)
    if isinstance(a, Leaf) and isinstance(b, Leaf):
        return _leaves(a, b, algebra)
    if isinstance(a, Relation) and isinstance(b, Relation):
        return _relations(a, b, algebra)
    if isinstance(a, Matrix) and isinstance(b, Matrix):
        if a.kind != b.kind or [len(row) for row in a.rows] != [len(row) for row in b.rows]:
            return Match.DIFFERENT
        return _ordered([cell for row in a.rows for cell in row], [cell for row in b.rows for cell in row], algebra)
    x, y = _interval(a), _interval(b)
    if x and y:
        return _intervals(x, y, algebra)
    if isinstance(a, Several) and isinstance(b, Several):
        return _several(a, b, algebra)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Several) and one.kind in ("set", "list", "union") and len(one.items) == 1:
            return _weaker(Match.COMPATIBLE, compare(one.items[0], other, algebra))
        if isinstance(one, Relation) and isinstance(other, Leaf):
            return _equation_and_value(one, other, algebra)
        if isinstance(one, Words) and isinstance(other, Leaf) and one.text == other.text.casefold():
            return Match.SAME
    return Match.DIFFERENT


def _leaves(a: Leaf, b: Leaf, algebra: Algebra) -> Match:
    if a.name and b.name and a.name != b.name:
        return _relations(Relation("=", a.name, a.text), Relation("=", b.name, b.text), algebra)
    best = Match.SAME if a.name == b.name else Match.COMPATIBLE
    if a.mark == b.mark:
        return _weaker(best, _equal(a.text, b.text, algebra))
    if a.mark and b.mark:
        convertible = a.mark[0] in "%_" and b.mark[0] in "%_"
        return _weaker(best, _equal(a.text, b.text, algebra)) if convertible else Match.DIFFERENT
    marked, plain = (a, b) if a.mark else (b, a)
    if marked.mark[0] in "%_" and (match := _equal(marked.text, plain.text, algebra)) is not Match.DIFFERENT:
        return _weaker(best, match)
    return _weaker(Match.COMPATIBLE, _equal(marked.bare, plain.text, algebra))


def _equal(a: str, b: str, algebra: Algebra) -> Match:
    if a == b:
        return Match.SAME
    if any(operator in a or operator in b for operator in _UNEVALUATED) or _DIGITS_APART.search(f"{a}|{b}"):
        return Match.SAME if _without_blanks(a) == _without_blanks(b) else Match.DIFFERENT
    return _decided(algebra.equal(a, b))


def _without_blanks(text: str) -> str:
    """Blanks carry no meaning, except between digits: ``2 3`` is not 23."""
    return _BLANK.sub("", text)


def _relations(a: Relation, b: Relation, algebra: Algebra) -> Match:
    """Equal solution sets by a constant factor; the factor of an inequality must be positive."""
    if a.op != b.op:
        return Match.DIFFERENT
    sign = algebra.multiple(a.difference, b.difference)
    return _decided(None if sign is None else sign != 0 if a.op in ("=", "!=") else sign > 0)


def _equation_and_value(equation: Relation, value: Leaf, algebra: Algebra) -> Match:
    """``y = 2x`` is an equation too; ``2 + 3 = 5`` is a way to write 5; an equation about unknowns is no value."""
    if value.name and equation.op == "=":
        return _relations(equation, Relation("=", value.name, value.text), algebra)
    if equation.op != "=" or any(sign.isalpha() for sign in equation.left.replace("\\frac", "").replace("\\sqrt", "")):
        return Match.DIFFERENT
    if _equal(equation.left, equation.right, algebra) is Match.DIFFERENT:
        return Match.DIFFERENT
    return _weaker(Match.COMPATIBLE, _equal(equation.right, value.text, algebra))


def _interval(node: Node) -> Interval | None:
    if isinstance(node, Interval):
        return node
    if isinstance(node, Relation):
        return as_interval(node)
    if isinstance(node, Several) and node.kind == "tuple" and len(node.items) == 2:
        low, high = node.items
        return Interval(low, high, False, False) if isinstance(low, Leaf) and isinstance(high, Leaf) else None
    return None


def _intervals(a: Interval, b: Interval, algebra: Algebra) -> Match:
    if (a.low_closed, a.high_closed) != (b.low_closed, b.high_closed) or (a.name and b.name and a.name != b.name):
        return Match.DIFFERENT
    ends = _ordered([a.low, a.high], [b.low, b.high], algebra)
    return ends if a.name == b.name else _weaker(Match.COMPATIBLE, ends)


def _several(a: Several, b: Several, algebra: Algebra) -> Match:
    kinds = {a.kind, b.kind}
    if kinds in ({"tuple"}, {"ratio"}):
        return _ordered(a.items, b.items, algebra)
    if kinds == {"list", "tuple"}:
        return _weaker(Match.COMPATIBLE, _ordered(a.items, b.items, algebra))
    if kinds <= {"list", "set"} or kinds == {"union"}:
        return _unordered(a.items, b.items, algebra)
    if kinds == {"list", "union"} and all(_interval(item) for item in (*a.items, *b.items)):
        return _unordered(a.items, b.items, algebra)
    return Match.DIFFERENT


def _choices(a: Node, b: Node, algebra: Algebra) -> Match:
    if isinstance(a, Choice) and isinstance(b, Choice):
        if a.letter != b.letter:
            return Match.DIFFERENT
        if a.content is None or b.content is None:
            return Match.COMPATIBLE
        return compare(a.content, b.content, algebra)
    choice, other = (a, b) if isinstance(a, Choice) else (b, a)
    if not isinstance(choice, Choice) or choice.content is None:
        return Match.DIFFERENT
    return _weaker(Match.COMPATIBLE, compare(choice.content, other, algebra))


def _ordered(a: Sequence[Node], b: Sequence[Node], algebra: Algebra) -> Match:
    if len(a) != len(b):
        return Match.DIFFERENT
    weakest = Match.SAME
    for x, y in zip(a, b, strict=True):
        weakest = _weaker(weakest, compare(x, y, algebra))
        if weakest is Match.DIFFERENT:
            break
    return weakest


def _unordered(a: Sequence[Node], b: Sequence[Node], algebra: Algebra) -> Match:
    """Repeats dropped, the strongest level at which the parts can be paired off."""
    a, b = _distinct(a, algebra), _distinct(b, algebra)
    if len(a) != len(b):
        return Match.DIFFERENT
    matches = [[compare(x, y, algebra) for y in b] for x in a]
    for level in (Match.SAME, Match.COMPATIBLE, Match.UNKNOWN):
        if _pairs_off([[match.value <= level.value for match in row] for row in matches]):
            return level
    return Match.DIFFERENT


def _distinct(items: Sequence[Node], algebra: Algebra) -> list[Node]:
    kept: list[Node] = []
    for item in items:
        if not any(compare(item, other, algebra) is Match.SAME for other in kept):
            kept.append(item)
    return kept


def _pairs_off(allowed: list[list[bool]]) -> bool:
    """Whether the bipartite graph has a perfect matching (augmenting paths)."""
    partner: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for column, fits in enumerate(allowed[row]):
            if fits and column not in tried:
                tried.add(column)
                if column not in partner or place(partner[column], tried):
                    partner[column] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(allowed)))


def _weaker(a: Match, b: Match) -> Match:
    return a if a.value >= b.value else b


def _decided(answer: bool | None) -> Match:
    return Match.UNKNOWN if answer is None else Match.SAME if answer else Match.DIFFERENT
