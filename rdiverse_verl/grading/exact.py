"""Read an expression into the exact field; what lies outside it is left undecided (None), never guessed."""

import re
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial

from rdiverse_verl.grading.field import Element, Undecided

MAX_DEPTH = 40
MAX_FACTORIAL = 400

_PLAIN = re.compile(r"([-+]?)(?:(\d{1,400})(?:\.(\d{0,400}))?|(?:\\[dt]?frac\{)?(\d{1,400})(?:/|\}\{)(\d{1,400})\}?)")
_TOKEN = re.compile(r"(\d+\.?\d*|\.\d+|\\[a-zA-Z]+|\\.|[a-zA-Z]|[^\s\\])|\s+")
_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")
_SCIENTIFIC = re.compile(r"(?<![a-zA-Z\\}\d.])(\d+(?:\.\d*)?|\.\d+)[eE]([-+]?\d+)(?![.a-zA-Z])")
_LETTERS = frozenset(
    f"\\{name}"
    for name in [
        "pi",
        "infty",
        "alpha",
        "beta",
        "gamma",
        "delta",
        "theta",
        "lambda",
        "mu",
        "phi",
        "varphi",
        "omega",
        "sigma",
        "tau",
        "rho",
        "epsilon",
    ]
)
_REPEATING = re.compile(r"(\d*)\.(\d*)\\overline\s*\{(\d+)\}")
_CLOSING = {"(": ")", "{": "}", "[": "]"}


def equal(a: str, b: str) -> bool | None:
    """Whether two normalized expressions have the same value; None if one of them is outside the exact field."""
    x, y = value(a), value(b)
    if x is None or y is None:
        return None
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x == y
    try:
        return element(x) == element(y)
    except Undecided:
        return None


def multiple(a: str, b: str) -> int | None:
    """The sign of the constant c != 0 with a = c b, 0 if there is none; None outside the exact field."""
    x, y = value(a), value(b)
    if x is None or y is None:
        return None
    try:
        return element(x).multiple_of(element(y))
    except Undecided:
        return None


def element(x: Fraction | Element) -> Element:
    """A rational as an element of the field."""
    return x if isinstance(x, Element) else Element.number(x)


def plain(text: str) -> Fraction | None:
    """The value of a bare integer, decimal or fraction, without any normalization; None for anything else."""
    found = _PLAIN.fullmatch(text)
    if not found:
        return None
    sign, whole, decimals, top, bottom = found.groups()
    if decimals:
        number = Fraction(int(whole + decimals), 10 ** len(decimals))
    elif whole:
        number = Fraction(int(whole))
    elif int(bottom):
        number = Fraction(int(top), int(bottom))
    else:
        return None
    return -number if sign == "-" else number


@lru_cache(maxsize=65536)
def value(text: str) -> Fraction | Element | None:
    """The exact value of a normalized expression; None if it is outside the field."""
    number = plain(text)
    if number is not None:
        return number
    try:
        result = _Reader(text).read()
        reduced = result.rational
        return result if reduced is None else reduced
    except (Undecided, ZeroDivisionError):
        return None


class _Reader:
    """Recursive descent over ``+ - * / ^ !``, fractions, roots, mixed numbers and implicit products."""

    def __init__(self, text: str):
        text = _REPEATING.sub(_repeating_decimal, _SCIENTIFIC.sub(r"(\1*10^{\2})", text))
        self.tokens = [token for token in _TOKEN.findall(text) if token]
        self.at = 0
        self.depth = 0

    def read(self) -> Element:
        result = self._sum()
        if self.at < len(self.tokens):
            raise Undecided
        return result

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self, expected: str = "") -> str:
        token = self._peek()
        if not token or (expected and token != expected):
            raise Undecided
        self.at += 1
        return token

    def _sum(self) -> Element:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Undecided
        total = self._product()
        while self._peek() in ("+", "-"):
            total = total + self._product() if self._take() == "+" else total - self._product()
        self.depth -= 1
        return total

    def _product(self) -> Element:
        sign = 1
        while self._peek() in ("+", "-"):
            sign = -sign if self._take() == "-" else sign
        total = self._power()
        while True:
            following = self._peek()
            if following in ("*", "/"):
                self._take()
                factor = self._signed_power()
                total = total * factor if following == "*" else total / factor
            elif following and (following[0].isalpha() or following in ("(", "{") or _starts_atom(following)):
                total = total * self._power()  # an implicit product never starts with a digit: "2 3" is no number
            else:
                return total if sign > 0 else -total

    def _signed_power(self) -> Element:
        if self._peek() == "-":
            self._take()
            return -self._power()
        return self._power()

    def _power(self) -> Element:
        base = self._atom()
        while self._peek() == "!":
            self._take()
            base = Element.number(factorial(_small_natural(base, MAX_FACTORIAL)))
        if self._peek() == "^":
            self._take()
            return _raised(base, self._exponent())
        return base

    def _exponent(self) -> Element:
        if self._peek() in ("-", "+"):
            return -self._atom() if self._take() == "-" else self._atom()
        return self._atom()

    def _atom(self) -> Element:
        token = self._take()
        if _NUMBER.fullmatch(token):
            return self._mixed(token)
        if token in _CLOSING:
            inner = self._sum()
            self._take(_CLOSING[token])
            return inner
        if token in ("\\frac", "\\binom"):
            top, bottom = self._argument(), self._argument()
            return top / bottom if token == "\\frac" else _binomial(top, bottom)
        if token == "\\sqrt":
            return self._root()
        if token in _LETTERS or (len(token) == 1 and token.isascii() and token.isalpha()):
            return Element.letter(token + self._subscript())
        raise Undecided

    def _mixed(self, whole: str) -> Element:
        """``7\\frac34`` is 7 + 3/4 when an integer stands directly before a proper numeric fraction."""
        number = Element.number(Fraction(whole) if len(whole) <= 400 else _too_large())
        if self._peek() != "\\frac" or not whole.isdigit():
            return number
        start = self.at
        self._take()
        top, bottom = self._argument().rational, self._argument().rational
        if top is None or bottom is None or top.denominator != 1 or bottom.denominator != 1 or not 0 < top < bottom:
            self.at = start
            return number
        return number + Element.number(top / bottom)

    def _argument(self) -> Element:
        """One LaTeX argument: a braced group, or a single digit or letter (``\\frac12``)."""
        token = self._peek()
        if token.isdigit() and len(token) > 1:
            self.tokens[self.at] = token[1:]
            return Element.number(int(token[0]))
        if token == "\\frac" or token == "\\sqrt" or token in _CLOSING or token.isalnum() or token in _LETTERS:
            return self._atom_alone()
        raise Undecided

    def _atom_alone(self) -> Element:
        token = self._peek()
        if token.isdigit():
            return Element.number(int(self._take()))
        return self._atom()

    def _root(self) -> Element:
        if self._peek() == "[":
            self._take()
            if self._sum().rational != 2:
                raise Undecided
            self._take("]")
        return self._argument().sqrt()

    def _subscript(self) -> str:
        if self._peek() != "_":
            return ""
        self._take()
        if self._peek() != "{":
            return "_" + self._take()
        self._take()
        name = "_"
        while self._peek() != "}":
            name += self._take()
        self._take()
        return name


def _repeating_decimal(found: re.Match[str]) -> str:
    """``0.1\\overline{6}`` as (16 - 1) / 90."""
    whole, fixed, repeated = found.groups()
    top = int(whole + fixed + repeated) - int(whole + fixed or "0")
    return f"\\frac{{{top}}}{{{'9' * len(repeated)}{'0' * len(fixed)}}}"


def _starts_atom(token: str) -> bool:
    return token in ("\\frac", "\\sqrt", "\\binom") or token in _LETTERS


def _raised(base: Element, exponent: Element) -> Element:
    power = exponent.rational
    if power is None:
        raise Undecided
    if power.denominator == 2 and (number := base.rational) is not None and number > 0:
        return base.sqrt() ** power.numerator
    if power.denominator != 1:
        raise Undecided
    number = base.rational
    if number is not None and abs(power) * max(number.numerator.bit_length(), number.denominator.bit_length()) > 8192:
        raise Undecided
    return base ** int(power)


def _small_natural(x: Element, limit: int) -> int:
    number = x.rational
    if number is None or number.denominator != 1 or not 0 <= number <= limit:
        raise Undecided
    return int(number)


def _binomial(n: Element, k: Element) -> Element:
    return Element.number(comb(_small_natural(n, MAX_FACTORIAL), _small_natural(k, MAX_FACTORIAL)))


def _too_large() -> Fraction:
    raise Undecided
