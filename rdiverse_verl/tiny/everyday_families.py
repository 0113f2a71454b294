"""Families of everyday arithmetic: totals, shares, percent, averages, prices, comparisons."""

from fractions import Fraction
from math import gcd
from random import Random

from rdiverse_verl.tiny.family import Family


def _price(rng: Random) -> tuple[int, int, int]:
    count, other = rng.sample(range(2, 10), 2)
    return count, count * rng.randint(2, 9), other


def _percent(rng: Random) -> tuple[int, int]:
    return rng.choice((5, 10, 20, 25, 30, 50, 75)), 20 * rng.randint(1, 10)


def _two_fractions(rng: Random) -> tuple[int, int, int, int]:
    reduced = [(a, b) for b in range(2, 10) for a in range(1, b) if gcd(a, b) == 1]
    (a, b), (c, d) = rng.sample(reduced, 2)
    return a, b, c, d


def _larger(a: int, b: int, c: int, d: int) -> tuple[Fraction, str]:
    sign = ">" if a * d > c * b else "<"
    return max(Fraction(a, b), Fraction(c, d)), f"{a}*{d}={a * d}, {c}*{b}={c * b}, {a * d}{sign}{c * b}"


FAMILIES = (
    Family(
        name="total",
        weight=6,
        draw=lambda r: (r.randint(5, 50), r.randint(3, 30), r.randint(2, 9)),
        work=lambda a, b, c: (a + b - c, f"{a}+{b}={a + b}, {a + b}-{c}={a + b - c}"),
        code="return n1 + n2 - n3",
        plain=("What is {n1} + {n2} - {n3}?", "Given {n1}, add {n2} and take away {n3}."),
        stories=(
            "{who} has {n1} red beads and {n2} blue beads and loses {n3} beads. How many beads are left?",
            "A bus has {n1} people. Then {n2} get on and {n3} get off. How many people are on the bus?",
        ),
    ),
    Family(
        name="share",
        weight=2,
        draw=lambda r: (r.randint(1, 9), r.randint(1, 9)),
        work=lambda a, b: (Fraction(a, a + b), f"{a}+{b}={a + b}, {a}/{a + b}={Fraction(a, a + b)}"),
        code="from fractions import Fraction\nx = n1 + n2\nreturn Fraction(n1, x)",
        plain=(
            "What fraction of the whole is {n1} when the rest is {n2}?",
            "Given parts {n1} and {n2}, find the fraction of the first part.",
        ),
        stories=(
            "{who} has {n1} red beads and {n2} blue beads. What fraction of the beads is red?",
            "A class has {n1} girls and {n2} boys. What fraction of the class are girls?",
        ),
    ),
    Family(
        name="percent",
        weight=2,
        draw=_percent,
        work=lambda p, n: (p * n // 100, f"{p}*{n}={p * n}, {p * n}/100={p * n // 100}"),
        code="return (n1 / 100) * n2",
        plain=("What is {n1}% of {n2}?", "Given {n1} percent and {n2}, find the part."),
        stories=(
            "{who} gets {n1}% off a coat of {n2} coins. How many coins are saved?",
            "A test has {n1}% hard tasks out of {n2} tasks. How many tasks are hard?",
        ),
    ),
    Family(
        name="average",
        weight=3,
        draw=lambda r: (r.randint(1, 12), r.randint(1, 12), r.randint(1, 12)),
        work=lambda a, b, c: (
            Fraction(a + b + c, 3),
            f"{a}+{b}+{c}={a + b + c}, {a + b + c}/3={Fraction(a + b + c, 3)}",
        ),
        code="from statistics import mean\nreturn mean([n1, n2, n3])",
        plain=("What is the average of {n1}, {n2} and {n3}?", "Given {n1}, {n2} and {n3}, find the mean."),
        stories=(
            "{who} ran {n1}, {n2} and {n3} miles on three days. How many miles a day is that on average?",
            "Three pens cost {n1}, {n2} and {n3} coins. What does a pen cost on average?",
        ),
    ),
    Family(
        name="price",
        weight=2,
        draw=_price,
        work=lambda a, b, c: (b // a * c, f"{b}/{a}={b // a}, {b // a}*{c}={b // a * c}"),
        code="x = n2 // n1\nreturn x * n3",
        plain=(
            "If {n1} parts weigh {n2}, how much do {n3} parts weigh?",
            "Given the rate {n1} to {n2}, find what goes with {n3}.",
        ),
        stories=(
            "{who} buys {n1} pens for {n2} coins. How many coins do {n3} pens cost?",
            "In {n1} hours a pump fills {n2} cans. How many cans does it fill in {n3} hours?",
        ),
    ),
    Family(
        name="larger",
        weight=2,
        draw=_two_fractions,
        work=_larger,
        code="from sympy import Max, Rational\nreturn Max(Rational(n1, n2), Rational(n3, n4))",
        plain=("Which is larger, {n1}/{n2} or {n3}/{n4}?", "Given {n1}/{n2} and {n3}/{n4}, find the larger one."),
        stories=(
            "{who} ate {n1}/{n2} of a cake and {n3}/{n4} of a pie. What is the larger part?",
            "One cup is {n1}/{n2} full and one is {n3}/{n4} full. How full is the fuller cup?",
        ),
    ),
)
