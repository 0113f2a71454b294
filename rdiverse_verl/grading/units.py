"""Split a measured quantity into its value and one spelling of its unit. Units are compared, never converted."""

import re

_ALIASES = {
    "centimeter": "cm", "centimetre": "cm", "meter": "m", "metre": "m", "kilometer": "km", "kilometre": "km", "mm": "mm",
    "millimeter": "mm", "millimetre": "mm", "inch": "in", "inche": "in", "foot": "ft", "feet": "ft", "yard": "yd",
    "mile": "mi", "gram": "g", "kilogram": "kg", "milligram": "mg", "pound": "lb", "ounce": "oz", "liter": "l", "litre": "l",
    "ml": "ml", "milliliter": "ml", "second": "s", "sec": "s", "minute": "min", "hour": "h", "hr": "h", "day": "day",
    "dollar": "$", "usd": "$", "buck": "$", "cent": "cent", "degree": "deg", "deg": "deg", "radian": "rad", "rad": "rad",
    "mph": "mi/h", "kph": "km/h", "cm": "cm", "km": "km", "m": "m", "s": "s", "in": "in", "ft": "ft", "yd": "yd", "kg": "kg",
    "g": "g", "mg": "mg", "l": "l", "h": "h", "min": "min", "lb": "lb", "oz": "oz", "hz": "hz", "kw": "kw", "volt": "v",
    "watt": "w", "joule": "j", "newton": "n", "kj": "kj", "mol": "mol", "euro": "€", "unit": "", "mi": "mi",
}  # fmt: skip
_SINGLE_LETTER = re.compile(r"[a-z]")
_FUNCTIONS = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "log",
        "ln",
        "exp",
        "max",
        "min",
        "lim",
        "gcd",
        "lcm",
        "mod",
        "det",
        "arcsin",
        "arccos",
        "arctan",
        "sinh",
        "cosh",
        "tanh",
    ]
)
_IN_TEXT = re.compile(r"(.*?[^\s])\s*\\text\s*\{([^{}]*)\}([\s\da-zA-Z/^{}*\\-]*)")
_IN_WORDS = re.compile(r"(.*?[\d})]|.*\\pi)(\s*)([A-Za-z][A-Za-z\s/^{}\d.-]*)")
_UNDRESSED = re.compile(r"[-+\d./ ]*")
_DEGREES = re.compile(r"(?!.*\\(?:sin|cos|tan|cot|sec|csc))(.+?)\s*\^\s*\{?\s*\\circ\s*\}?\s*([CFKcfk]?)")
_CURRENCY = re.compile(r"([-+]?)\s*(\\dollar|€|£|¥)\s*(.+)")


def split_unit(text: str) -> tuple[str, str]:
    """(value, unit) of a normalized expression; the unit is "" when there is none."""
    if _UNDRESSED.fullmatch(text):
        return text, ""
    if found := _DEGREES.fullmatch(text):
        scale = found[2].upper()
        return found[1], f"deg{scale}"
    if found := _CURRENCY.fullmatch(text):
        value, further = split_unit(found[3].strip())
        currency = "$" if found[2] == "\\dollar" else found[2]
        return found[1] + value, currency if further in ("", currency) else f"{currency} {further}"
    if text.endswith("\\dollar"):
        return text[: -len("\\dollar")].rstrip(), "$"
    if found := _IN_TEXT.fullmatch(text):
        unit = _spelling(found[2] + found[3].replace("\\text", ""), in_text=True)
        return (text, "") if unit is None else (found[1].rstrip("\\ *"), unit)
    if found := _IN_WORDS.fullmatch(text):
        unit = _spelling(found[3], in_text=bool(found[2]))
        if unit is not None:
            return found[1], unit
    return text, ""


def _spelling(raw: str, in_text: bool) -> str | None:
    """One spelling of a unit; None if the words are no unit. Letters directly behind a number must be a known unit."""
    words = re.findall(r"[a-z]+|\^\s*\{?\s*-?\d\s*\}?|/", raw.lower())
    if not words or not words[0].isalpha():
        return None
    spelled: list[str] = []
    power = ""
    for word in words:
        if word in ("per", "/"):
            spelled.append("/")
        elif word in ("square", "sq", "cubic"):
            power = "^3" if word == "cubic" else "^2"
        elif word.startswith("^"):
            spelled.append(word.translate({ord(sign): None for sign in " {}"}))
        elif word not in ("of", "the", "and"):
            known = _known(word)
            if known is None and (not in_text or len(word) < 3 or word in _FUNCTIONS):
                return None
            if _SINGLE_LETTER.fullmatch(word) and not in_text:
                return None
            spelled.append((known if known is not None else word) + power)
            power = ""
    return "".join(spelled) if spelled != [""] else ""


def _known(word: str) -> str | None:
    for form in (word, word[:-1] if word.endswith("s") else word):
        if form in _ALIASES:
            return _ALIASES[form]
    return (
        word[:-1]
        if len(word) > 3 and word.endswith("s") and not word.endswith("ss") and word not in _FUNCTIONS
        else None
    )
