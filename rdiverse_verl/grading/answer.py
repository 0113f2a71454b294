"""The shape of an answer: a value, a list, a set, an interval, a matrix, an equation, a choice, or words."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class Leaf:
    """One expression. ``name`` is x in ``x = 5``; ``mark`` is what dresses the value: a unit, "%" or a base "_8".

    ``bare`` is the value of the same answer written without its mark: 28 for ``28\\%``, whose ``text`` is 28/100.
    """

    text: str
    name: str = ""
    mark: str = ""
    bare: str = ""


@dataclass(frozen=True)
class Words:
    """An answer in words, without case and punctuation."""

    text: str


@dataclass(frozen=True)
class Choice:
    """A multiple-choice letter, with what the answer says about it (None when it gives the letter alone)."""

    letter: str
    content: "Node | None" = None


@dataclass(frozen=True)
class Several:
    """Several parts. Lists, sets and unions are unordered; tuples and ratios are ordered."""

    kind: Literal["list", "set", "union", "tuple", "ratio"]
    items: tuple["Node", ...]


@dataclass(frozen=True)
class Matrix:
    """Rows of leaves; ``kind`` is "matrix" or "determinant"."""

    kind: str
    rows: tuple[tuple["Node", ...], ...]


@dataclass(frozen=True)
class Interval:
    """From low to high; ``name`` is x in ``1 < x < 2``."""

    low: Leaf
    high: Leaf
    low_closed: bool
    high_closed: bool
    name: str = ""


@dataclass(frozen=True)
class Relation:
    """left op right, with op one of ``= < <= !=``; > and >= are turned round."""

    op: str
    left: str
    right: str

    @property
    def difference(self) -> str:
        """left - right."""
        return f"{self.left}-({self.right})"


Node: TypeAlias = Leaf | Words | Choice | Several | Matrix | Interval | Relation


def leaves(node: Node) -> Iterator[str]:
    """The expressions that comparing this answer would evaluate."""
    if isinstance(node, Leaf):
        yield node.text
    elif isinstance(node, Relation):
        yield node.difference
    elif isinstance(node, Interval):
        yield from (node.low.text, node.high.text)
    elif isinstance(node, Several):
        for item in node.items:
            yield from leaves(item)
    elif isinstance(node, Matrix):
        for row in node.rows:
            for cell in row:
                yield from leaves(cell)
    elif isinstance(node, Choice) and node.content:
        yield from leaves(node.content)
