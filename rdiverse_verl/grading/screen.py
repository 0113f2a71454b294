"""Refuse, by looking at it, an answer that could cost more than it can be worth. Linear in the text."""

import re

MAX_LENGTH = 1000
MAX_DIGITS = 400
MAX_NESTING = 40
MAX_PARTS = 64  # commas, ampersands and line ends
MAX_TERMS = 200  # signs between terms
MAX_RELATIONS = 16
MAX_EXPONENT = 10_000

_DIGITS = re.compile(rf"\d{{{MAX_DIGITS + 1}}}")
_BIG_POWER = re.compile(r"\^\s*[({]*\s*-?\s*\d{5}")
_NUMBER_TOWER = re.compile(r"\d\s*[)}]*\s*\^\s*[({]*\s*\d+\s*[)}]*\s*\^\s*[({]*\s*-?\d")
_BIG_FACTORIAL = re.compile(r"\d{4}\s*[)}]*\s*!|[!)}]\s*!|!\s*[)}]+\s*!")
_BIG_CHOICE = re.compile(r"\\binom\s*(?:\{[^{}]*(?:\d{4}|\^)|\{[^{}]*\}\s*\{[^{}]*(?:\d{4}|\^))")
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


def refusal(answer: str) -> str | None:
    """Why an answer is not examined further; None if it may be."""
    if len(answer) > MAX_LENGTH:
        return "length"
    if _DIGITS.search(answer):
        return "digits"
    if answer.count(",") + answer.count("&") + answer.count(";") > MAX_PARTS:
        return "parts"
    if answer.count("+") + answer.count("-") > MAX_TERMS:
        return "terms"
    if answer.count("=") + answer.count("<") + answer.count(">") > MAX_RELATIONS:
        return "relations"
    if _nesting(answer) > MAX_NESTING:
        return "nesting"
    if "!" in answer and _BIG_FACTORIAL.search(answer):
        return "factorial"
    if "\\binom" in answer and _BIG_CHOICE.search(answer):
        return "binomial"
    if "^" in answer and (_BIG_POWER.search(answer) or _NUMBER_TOWER.search(answer) or _exponent_depth(answer) > 2):
        return "power"
    return None


def _nesting(answer: str) -> int:
    depth = deepest = 0
    for sign in answer:
        if sign in _OPEN:
            depth += 1
            deepest = max(deepest, depth)
        elif sign in _CLOSE:
            depth -= 1
    return deepest


def _exponent_depth(answer: str) -> int:
    """How many exponents stand inside one another."""
    inside: list[bool] = []  # per open bracket: does it hold an exponent?
    depth = deepest = 0
    pending = False
    for sign in answer:
        if sign == "^":
            pending = True
            deepest = max(deepest, depth + 1)
        elif sign in _OPEN:
            inside.append(pending)
            depth += pending
            pending = False
        elif sign in _CLOSE:
            if inside:
                depth -= inside.pop()
            pending = False
        elif not sign.isspace():
            pending = False
    return deepest
