"""Symbols and functions, by way of math-verify's parser. For workers only: a call may hang or exhaust memory.

Two expressions are equal when they agree to 40 digits at four rational points, two of them positive; a constant is
evaluated once. Agreement is relative, so tiny numbers stay distinct.
"""

import hashlib
import logging
import re
from functools import lru_cache

import sympy
from latex2sympy2_extended.latex2sympy2 import ConversionConfig, NormalizationConfig, latex2sympy
from math_verify import verify

from rdiverse_verl.grading import exact

_POINTS = 4
_POSITIVE_POINTS = 2
_DIGITS = 50
_AGREE = sympy.Float("1e-40", _DIGITS)
_DEGREES = re.compile(r"(\d+\.?\d*)\s*\^\s*\{?\s*\\circ\s*\}?")
_CONVERSION = ConversionConfig(lowercase_symbols=False)
_NORMALIZATION = NormalizationConfig(
    basic_latex=True, units=False, malformed_operators=True, nits=True, boxed="none", equations=False
)

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
        pairs = _sampled(a, b)
        if pairs is None:
            return bool(verify(x, y, timeout_seconds=None) and verify(y, x, timeout_seconds=None))
        return all(_agree(p, q) for p, q in pairs) if pairs else None

    def multiple(self, a: str, b: str) -> int | None:
        """The sign of the constant c != 0 with a = c b."""
        decided = exact.multiple(a, b)
        if decided is not None:
            return decided
        ratios = [p / q for p, q in _sampled(a, b) or () if q != 0]
        if not ratios:
            return None
        if ratios[0] == 0 or not all(_agree(ratio, ratios[0]) for ratio in ratios):
            return 0
        return 1 if sympy.re(ratios[0]) > 0 else -1


def _sampled(a: str, b: str) -> list[tuple[sympy.Expr, sympy.Expr]] | None:
    """The two values wherever both have one; None if either is not a numeric expression.

    Where letters are negative only real values count, so that ``\\sqrt{1/n} = 1/\\sqrt n`` but ``\\sqrt{x^2} != x``.
    """
    x, y = expression(a), expression(b)
    if not (isinstance(x, sympy.Expr) and isinstance(y, sympy.Expr)):
        return None
    letters = _letters(x, y)
    left, right = samples(a, letters), samples(b, letters)
    if left is None or right is None:
        return None
    return [
        (p, q)
        for point, (p, q) in enumerate(zip(left, right, strict=True))
        if p is not None and q is not None and (point < _POSITIVE_POINTS or (p.is_real and q.is_real))
    ]


@lru_cache(maxsize=4096)
def expression(text: str) -> sympy.Basic | sympy.MatrixBase | None:
    """The parsed expression; None if the parser does not understand all of it. Golds recur, so parses are kept."""
    if "$" in text:  # the parser would skip it
        return None
    try:
        return latex2sympy(
            _DEGREES.sub(r"(\1\\pi /180)", text),
            is_real=True,
            normalization_config=_NORMALIZATION,
            conversion_config=_CONVERSION,
        )
    except MemoryError:
        raise
    except Exception:  # the parser raises bare Exceptions
        return None


def evaluate(text: str) -> None:
    """Do, and keep, the costly part of comparing this expression."""
    parsed = expression(text)
    if isinstance(parsed, sympy.Expr):
        samples(text, _letters(parsed, parsed))


@lru_cache(maxsize=4096)
def samples(text: str, letters: tuple[sympy.Symbol, ...]) -> tuple[sympy.Expr | None, ...] | None:
    """Values at the sample points, None where there is none; None if the expression has no numeric value at all."""
    parsed = expression(text)
    values: list[sympy.Expr | None] = []
    for point in range(_POINTS if letters else 1):
        at_point = {letter: _coordinate(str(letter), point) for letter in letters}
        try:
            number = sympy.N(parsed, _DIGITS, subs=at_point)
        except (ArithmeticError, AttributeError, NotImplementedError, RecursionError, TypeError, ValueError):
            return None
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
    """A rational that depends on the letter and the point alone; the letter i is the imaginary unit everywhere."""
    if letter == "i":
        return sympy.I
    digest = hashlib.blake2b(f"{letter}:{point}".encode(), digest_size=4).digest()
    size = sympy.Rational(int.from_bytes(digest[:2], "big") + 7001, 17389 + 2 * int.from_bytes(digest[2:], "big"))
    return size if point < _POSITIVE_POINTS else -size


def _significant(number: sympy.Expr) -> sympy.Expr:
    """Zero in place of what is left over when everything cancels (no significant bits)."""
    return sympy.Integer(0) if getattr(number, "_prec", 2) == 1 else number


def _agree(p: sympy.Expr, q: sympy.Expr) -> bool:
    return bool(p == q or abs(sympy.N(p - q, _DIGITS)) <= _AGREE * max(abs(sympy.N(p)), abs(sympy.N(q))))
