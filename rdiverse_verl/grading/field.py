"""A field with decidable equality that most final answers live in.

Elements are fractions of polynomials with rational coefficients over square roots of integers, pi, e, the imaginary
unit and letters. Two are equal iff they agree after cross multiplication; nothing is evaluated in floating point.
Sizes are bounded: an operation that would exceed them raises ``Undecided``.
"""

from fractions import Fraction
from math import gcd, isqrt

MAX_TERMS = 48
MAX_BITS = 4096
MAX_RADICAND = 10**12

# A monomial is (square-free radicand, ((letter, exponent), ...)); a polynomial maps monomials to coefficients, never 0.
Monomial = tuple[int, tuple[tuple[str, int], ...]]
Poly = dict[Monomial, Fraction]

_ONE: Monomial = (1, ())


class Undecided(Exception):
    """The value is outside the field, or too large for it."""


class Element:
    """num / den with den != 0. Not reduced."""

    __slots__ = ("den", "num")

    def __init__(self, num: Poly, den: Poly):
        self.num, self.den = num, den

    @classmethod
    def number(cls, value: Fraction | int) -> "Element":
        """A rational."""
        return cls({_ONE: Fraction(value)} if value else {}, _UNIT)

    @classmethod
    def letter(cls, name: str) -> "Element":
        """A generator: a variable, pi, e or i."""
        return cls({(1, ((name, 1),)): Fraction(1)}, _UNIT)

    @property
    def rational(self) -> Fraction | None:
        """The value, if it is a rational number that needs no reduction to be seen."""
        if len(self.den) > 1 or len(self.num) > 1:
            return None
        if not self.num:
            return Fraction(0)
        (top, p), (bottom, q) = next(iter(self.num.items())), next(iter(self.den.items()))
        return p / q if top == bottom else None

    def __add__(self, other: "Element") -> "Element":
        if self.den == other.den:
            return Element(_plus(self.num, other.num), self.den)
        return Element(_plus(_times(self.num, other.den), _times(other.num, self.den)), _times(self.den, other.den))

    def __neg__(self) -> "Element":
        return Element({key: -c for key, c in self.num.items()}, self.den)

    def __sub__(self, other: "Element") -> "Element":
        return self + -other

    def __mul__(self, other: "Element") -> "Element":
        return Element(_times(self.num, other.num), _times(self.den, other.den))

    def __truediv__(self, other: "Element") -> "Element":
        if not other.num:
            raise Undecided
        return Element(_times(self.num, other.den), _times(self.den, other.num))

    def __pow__(self, exponent: int) -> "Element":
        base = self if exponent >= 0 else _ELEMENT_ONE / self
        if abs(exponent) > MAX_BITS:
            raise Undecided
        power = _ELEMENT_ONE
        for bit in f"{abs(exponent):b}":
            power = power * power
            if bit == "1":
                power = power * base
        return power

    def sqrt(self) -> "Element":
        """The square root of a rational; Undecided for anything else."""
        number = self.rational
        if number is None:
            raise Undecided
        square, radicand = _square_part(abs(number.numerator) * number.denominator)
        root = Element({(radicand, ()): Fraction(square, number.denominator)} if number else {}, _UNIT)
        return root * Element.letter("i") if number < 0 else root

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Element) and _times(self.num, other.den) == _times(other.num, self.den)

    __hash__ = None  # type: ignore[assignment]

    def multiple_of(self, other: "Element") -> int:
        """The sign of the constant c != 0 with self = c * other for all letters; 0 if there is none."""
        left, right = _times(self.num, other.den), _times(other.num, self.den)
        if left.keys() != right.keys() or not left:
            return 0
        ratios = {left[key] / right[key] for key in left}
        return 0 if len(ratios) > 1 else (1 if ratios.pop() > 0 else -1)


_UNIT: Poly = {_ONE: Fraction(1)}
_ELEMENT_ONE = Element(_UNIT, _UNIT)


def _plus(p: Poly, q: Poly) -> Poly:
    total = dict(p)
    for key, c in q.items():
        total[key] = total.get(key, 0) + c
        if not total[key]:
            del total[key]
    return _bounded(total)


def _times(p: Poly, q: Poly) -> Poly:
    if q is _UNIT:
        return p
    if len(p) * len(q) > MAX_TERMS**2:
        raise Undecided
    product: Poly = {}
    for (root_p, powers_p), c in p.items():
        for (root_q, powers_q), d in q.items():
            common = gcd(root_p, root_q)
            key, coefficient = _reduced(root_p // common * (root_q // common), powers_p, powers_q, c * d * common)
            product[key] = product.get(key, 0) + coefficient
            if not product[key]:
                del product[key]
    return _bounded(product)


def _reduced(
    radicand: int, p: tuple[tuple[str, int], ...], q: tuple[tuple[str, int], ...], c: Fraction
) -> tuple[Monomial, Fraction]:
    if not p and not q:
        return (radicand, ()), c
    powers = dict(p)
    for letter, exponent in q:
        powers[letter] = powers.get(letter, 0) + exponent
    if powers.get("i", 0) >= 2:
        powers["i"] -= 2
        c = -c
        if not powers["i"]:
            del powers["i"]
    return (radicand, tuple(sorted(powers.items()))), c


def _bounded(p: Poly) -> Poly:
    if len(p) > MAX_TERMS:
        raise Undecided
    for c in p.values():
        if c.numerator.bit_length() + c.denominator.bit_length() > 2 * MAX_BITS:
            raise Undecided
    return p


def _square_part(n: int) -> tuple[int, int]:
    """(s, r) with n = s^2 r and r square-free."""
    root = isqrt(n)
    if root * root == n:
        return root, 1
    if n > MAX_RADICAND:
        raise Undecided
    square, radicand, factor = 1, 1, 2
    while factor * factor * factor <= n:
        exponent = 0
        while n % factor == 0:
            n //= factor
            exponent += 1
        square *= factor ** (exponent // 2)
        radicand *= factor ** (exponent % 2)
        factor += 1
    root = isqrt(n)  # what is left is a prime, a prime squared, or a product of two primes
    return (square * root, radicand) if root * root == n else (square, radicand * n)
