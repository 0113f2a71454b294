"""Families about whole numbers: divisibility, digits, powers, counting."""

from math import gcd
from random import Random

from rdiverse_verl.tiny.family import Family


def _with_common_factor(rng: Random, factors: range) -> tuple[int, int]:
    common = rng.choice(factors)
    a, b = rng.sample(range(1, 8), 2)
    return common * a, common * b


def _euclid(a: int, b: int) -> tuple[int, str]:
    steps = []
    while b:
        steps.append(f"{a}%{b}={a % b}")
        a, b = b, a % b
    return a, ", ".join(steps)


def _least_common(a: int, b: int) -> tuple[int, str]:
    common = gcd(a, b)
    return a // common * b, f"{a}/{common}={a // common}, {a // common}*{b}={a // common * b}"


def _power(base: int, exponent: int) -> tuple[int, str]:
    steps = [f"{base**k}*{base}={base ** (k + 1)}" for k in range(1, exponent)]
    return base**exponent, ", ".join(steps)


def _divisors(n: int) -> tuple[int, str]:
    divisors = [k for k in range(1, n + 1) if n % k == 0]
    return len(divisors), ", ".join(map(str, divisors))


FAMILIES = (
    Family(
        name="remainder",
        weight=2,
        draw=lambda r: (r.randint(11, 99), r.randint(3, 9)),
        work=lambda a, b: (a % b, f"{b}*{a // b}={a // b * b}, {a}-{a // b * b}={a % b}"),
        code="x, y = divmod(n1, n2)\nreturn y",
        plain=(
            "What is the remainder when {n1} is divided by {n2}?",
            "Given {n1} and {n2}, find the remainder of the first by the second.",
        ),
        stories=(
            "{who} has {n1} beads and fills bags of {n2}. How many beads are left over?",
            "A class of {n1} children forms teams of {n2}. How many children have no team?",
        ),
    ),
    Family(
        name="gcd",
        weight=1,
        draw=lambda r: _with_common_factor(r, range(2, 13)),
        work=_euclid,
        code="while n2:\n    n1, n2 = n2, n1 % n2\nreturn n1",
        plain=(
            "What is the greatest common divisor of {n1} and {n2}?",
            "Given {n1} and {n2}, find the largest number that divides both.",
        ),
        stories=(
            "{who} has {n1} red beads and {n2} blue beads. "
            "What is the largest number of equal bags with none left over?",
            "Two ropes of {n1} and {n2} metres are cut into equal parts. How long can a part be at most?",
        ),
    ),
    Family(
        name="lcm",
        weight=1,
        draw=lambda r: _with_common_factor(r, range(2, 7)),
        work=_least_common,
        code="for k in range(n1, n1 * n2 + 1, n1):\n    if k % n2 == 0:\n        return k",
        plain=(
            "What is the least common multiple of {n1} and {n2}?",
            "Given {n1} and {n2}, find the smallest number that both divide.",
        ),
        stories=(
            "Two buses leave together, one every {n1} minutes and one every {n2} minutes. "
            "After how many minutes do both leave together again?",
            "{who} rests every {n1} days and swims every {n2} days. After how many days do both fall together?",
        ),
    ),
    Family(
        name="power",
        weight=1,
        draw=lambda r: (r.randint(2, 12), r.randint(2, 3)),
        work=_power,
        code="from functools import reduce\nreturn reduce(lambda x, k: x * n1, range(n2), 1)",
        plain=("Compute ${n1}^{n2}$.", "Given {n1} and {n2}, find the first to the power of the second."),
        stories=(
            "A cell splits into {n1} cells every hour. How many cells are there after {n2} hours?",
            "Every wheel of a lock has {n1} signs. How many codes do {n2} wheels give?",
        ),
    ),
    Family(
        name="digits",
        weight=4,
        draw=lambda r: (r.randint(11, 999),),
        work=lambda n: (sum(map(int, str(n))), f"{'+'.join(str(n))}={sum(map(int, str(n)))}"),
        code="a = map(int, str(n1))\nreturn sum(a)",
        plain=("What is the digit sum of {n1}?", "Given {n1}, add up all its digits."),
        stories=(
            "{who} has ticket number {n1} and adds its digits. What is the result?",
            "A door opens with the digit sum of {n1}. Which number opens the door?",
        ),
    ),
    Family(
        name="divisors",
        weight=1,
        draw=lambda r: (r.randint(4, 40),),
        work=_divisors,
        code="from sympy import divisors\na = divisors(n1)\nreturn len(a)",
        plain=("How many divisors does {n1} have?", "Given {n1}, count the numbers that divide it."),
        stories=(
            "In how many ways can {who} put {n1} chairs in equal rows?",
            "{who} has {n1} beads. How many sizes of equal bags leave none over?",
        ),
    ),
)
