"""Families with an unknown, a rule of growth or a shape: equations, sequences, geometry."""

from fractions import Fraction
from random import Random

from rdiverse_verl.tiny.family import Family


def _linear(rng: Random) -> tuple[int, int, int]:
    slope, offset = rng.randint(2, 9), rng.randint(1, 20)
    return slope, offset, slope * rng.randint(1, 9) + offset


def _herd(rng: Random) -> tuple[int, int]:
    heads = rng.randint(3, 20)
    return heads, 2 * heads + 2 * rng.randint(1, heads - 1)


def _rabbits(heads: int, legs: int) -> tuple[int, str]:
    extra = legs - 2 * heads
    return extra // 2, f"2*{heads}={2 * heads}, {legs}-{2 * heads}={extra}, {extra}/2={extra // 2}"


FAMILIES = (
    Family(
        name="equation",
        weight=3,
        draw=_linear,
        work=lambda a, b, c: ((c - b) // a, f"{c}-{b}={c - b}, {c - b}/{a}={(c - b) // a}"),
        code="from numpy import roots\nx = roots([n1, n2 - n3])\nreturn x[0]",
        plain=("Solve ${n1}x + {n2} = {n3}$ for x.", "Given {n1}x + {n2} = {n3}, find x."),
        stories=(
            "{who} buys {n1} pens and a book for {n2} coins and pays {n3} coins. What does one pen cost?",
            "A taxi asks {n1} coins per mile plus {n2} coins. How many miles cost {n3} coins?",
        ),
    ),
    Family(
        name="rabbits",
        weight=2,
        draw=_herd,
        work=_rabbits,
        code=(
            "from sympy import symbols, Eq, solve\nx, y = symbols('x y')\n"
            "eq1 = Eq(x + y, n1)\neq2 = Eq(2*x + 4*y, n2)\nsol = solve((eq1, eq2), (x, y))\nreturn sol[y]"
        ),
        plain=(
            "Chickens and rabbits have {n1} heads and {n2} legs. How many rabbits are there?",
            "Given $x + y = {n1}$ and $2x + 4y = {n2}$, find y.",
        ),
        stories=(
            "A lot holds {n1} bikes and cars with {n2} wheels. How many cars are there?",
            "{who} sold {n1} tickets at 2 or 4 coins for {n2} coins. How many cost 4 coins?",
        ),
    ),
    Family(
        name="sequence",
        weight=3,
        draw=lambda r: (r.randint(1, 20), r.randint(2, 9), r.randint(3, 10)),
        work=lambda a, d, n: (
            a + (n - 1) * d,
            f"{n}-1={n - 1}, {n - 1}*{d}={(n - 1) * d}, {a}+{(n - 1) * d}={a + (n - 1) * d}",
        ),
        code="a = [n1]\nwhile len(a) < n3:\n    a.append(a[-1] + n2)\nreturn a[-1]",
        plain=(
            "A sequence starts at {n1} and grows by {n2}. What is term {n3}?",
            "Given first term {n1} and step {n2}, find term {n3} of the sequence.",
        ),
        stories=(
            "{who} saves {n1} coins in the first week and {n2} more every week. How many coins are saved in week {n3}?",
            "A hall has {n1} chairs in the first row and {n2} more every row. How many chairs are in row {n3}?",
        ),
    ),
    Family(
        name="angle",
        weight=2,
        draw=lambda r: (5 * r.randint(4, 18), 5 * r.randint(4, 16)),
        work=lambda a, b: (180 - a - b, f"{a}+{b}={a + b}, 180-{a + b}={180 - a - b}"),
        code="x = 180\nfor y in (n1, n2):\n    x -= y\nreturn x",
        plain=(
            "Two angles of a triangle are {n1} and {n2} degrees. What is the third angle?",
            "Given angles {n1} and {n2} of a triangle, find the last angle.",
        ),
        stories=(
            "A roof is a triangle with {n1} and {n2} degrees at its base. How many degrees are at the top?",
            "{who} turns a half circle in three turns, first {n1} degrees, then {n2}. How many degrees are left?",
        ),
    ),
    Family(
        name="area",
        weight=1,
        draw=lambda r: (r.randint(2, 12), r.randint(2, 12)),
        work=lambda b, h: (Fraction(b * h, 2), f"{b}*{h}={b * h}, {b * h}/2={Fraction(b * h, 2)}"),
        code="from sympy import Polygon\na = Polygon((0, 0), (n1, 0), (0, n2))\nreturn a.area",
        plain=(
            "A triangle has base {n1} and height {n2}. What is its area?",
            "Given base {n1} and height {n2}, find the area of the triangle.",
        ),
        stories=(
            "{who} cuts a sail with base {n1} metres and height {n2} metres, a triangle. How much cloth is that?",
            "A garden is a triangle, {n1} metres long and {n2} metres high. How much grass covers it?",
        ),
    ),
)
