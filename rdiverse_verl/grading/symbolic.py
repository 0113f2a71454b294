"""Symbols and functions, by way of math-verify's parser. Runs in a worker only: any call here may hang or exhaust memory.

Two expressions are equal when they agree to 40 digits at four points where all letters are positive rationals; a
constant is evaluated once. Agreement is relative, so tiny numbers stay distinct.
"""

import hashlib
import logging
import re
from functools import lru_cache

import sympy
from math_verify import LatexExtractionConfig, parse, verify

from rdiverse_verl.grading import exact

_POINTS = 4
_DIGITS = 50
_AGREE = sympy.Float("1e-40", _DIGITS)
_DEGREES = re.compile(r"(\d+\.?\d*)\s*\^\s*\{?\s*\\circ\s*\}?")
_CONFIG = (LatexExtractionConfig(),)

logging.getLogger("math_verify").setLevel(logging.ERROR)


class Symbols:
    """The ``Algebra`` of a worker: the exact field where it decides, sympy elsewhere."""

    def equal(self, a: str, b: str) -> bool | None:
        """Whether a = b."""
        decided = exact.equal(a, b)
        if decided is not None:
            return decided
        x, y = expression(a), expression(b)
        if x is None or y is None:
            return None
        if x == y:
            return True
        if not (isinstance(x, sympy.Expr) and isinstance(y, sympy.Expr)):
            return bool(verify(x, y, timeout_seconds=None) and verify(y, x, timeout_seconds=None))
        letters, signed = _letters(x, y), "|" in a + b
        left, right = samples(a, letters, signed), samples(b, letters, signed)
        if left is None or right is None:
            return bool(verify(x, y, timeout_seconds=None))
        pairs = [(p, q) for p, q in zip(left, right, strict=True) if p is not None and q is not None]
        return all(_agree(p, q) for p, q in pairs) if pairs else None

    def multiple(self, a: str, b: str) -> int | None:
        """The sign of the constant c != 0 with a = c b."""
        decided = exact.multiple(a, b)
        if decided is not None:
            return decided
        x, y = expression(a), expression(b)
        if not (isinstance(x, sympy.Expr) and isinstance(y, sympy.Expr)):
            return None
        letters, signed = _letters(x, y), "|" in a + b
        left, right = samples(a, letters, signed), samples(b, letters, signed)
        if left is None or right is None:
            return None
        ratios = [p / q for p, q in zip(left, right, strict=True) if p is not None and q is not None and q != 0]
        if not ratios or not all(_agree(ratio, ratios[0]) for ratio in ratios) or ratios[0] == 0:
            return 0 if ratios else None
        return 1 if sympy.re(ratios[0]) > 0 else -1


@lru_cache(maxsize=4096)
def expression(text: str) -> sympy.Basic | sympy.MatrixBase | None:
    """The parsed expression, or None. Golds recur, so parses are kept."""
    text = _DEGREES.sub(r"(\1\\pi /180)", text)
    found = parse(f"${text}$", _CONFIG, fallback_mode="no_fallback", parsing_timeout=None)
    return found[0] if found and not isinstance(found[0], str) else None


def evaluate(text: str) -> None:
    """Do, and keep, the costly part of comparing this expression."""
    parsed = expression(text)
    if isinstance(parsed, sympy.Expr):
        samples(text, _letters(parsed, parsed), "|" in text)


@lru_cache(maxsize=4096)
def samples(text: str, letters: tuple[sympy.Symbol, ...], signed: bool) -> tuple[sympy.Expr | None, ...] | None:
    """Values at the sample points, None at points where there is none; None if the expression has no numeric value.

    Letters are positive, as in ``\\sqrt{1/n} = 1/\\sqrt n``, unless ``signed``: absolute values need both signs.
    """
    parsed = expression(text)
    values: list[sympy.Expr | None] = []
    for point in range(_POINTS if letters else 1):
        sign = -1 if signed and point % 2 else 1
        at_point = {letter: sign * _coordinate(str(letter), point) for letter in letters}
        number = sympy.N(parsed, _DIGITS, subs=at_point)
        if number.has(sympy.nan, sympy.zoo, sympy.oo):
            values.append(None)
            continue
        real, imaginary = number.as_real_imag()
        if not (real.is_Number and imaginary.is_Number):
            return None
        values.append(_significant(real) + sympy.I * _significant(imaginary))
    return tuple(values)


def _letters(x: sympy.Basic, y: sympy.Basic) -> tuple[sympy.Symbol, ...]:
    return tuple(sorted(x.free_symbols | y.free_symbols, key=str))


def _coordinate(letter: str, point: int) -> sympy.Expr:
    """A positive rational that depends on the letter and the point alone; the letter i is the imaginary unit."""
    if letter == "i":
        return sympy.I
    digest = hashlib.blake2b(f"{letter}:{point}".encode(), digest_size=4).digest()
    return sympy.Rational(int.from_bytes(digest[:2], "big") + 7001, 17389 + 2 * int.from_bytes(digest[2:], "big"))


def _significant(number: sympy.Expr) -> sympy.Expr:
    """Zero in place of what is left over when everything cancels (no significant bits)."""
    return sympy.Integer(0) if getattr(number, "_prec", 2) == 1 else number


def _agree(p: sympy.Expr, q: sympy.Expr) -> bool:
    return bool(p == q or abs(sympy.N(p - q, _DIGITS)) <= _AGREE * max(abs(sympy.N(p)), abs(sympy.N(q))))
