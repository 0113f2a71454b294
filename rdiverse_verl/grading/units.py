"""Split a measured quantity into its value and one spelling of its unit. Units are compared, never converted."""

import re

from rdiverse_verl.grading.spelling import FUNCTIONS

_SPELLINGS = {
    "mm": "millimeter millimetre", "cm": "centimeter centimetre", "m": "meter metre", "km": "kilometer kilometre",
    "in": "inch inche", "ft": "foot feet", "yd": "yard", "mi": "mile", "g": "gram", "mg": "milligram", "kg": "kilogram",
    "lb": "pound", "oz": "ounce", "l": "liter litre", "ml": "milliliter millilitre", "s": "second", "min": "minute",
    "h": "hour hr", "day": "", "$": "dollar usd buck", "cent": "", "€": "euro", "deg": "degree", "rad": "radian",
    "mi/h": "mph", "km/h": "kph kmph", "hz": "hertz", "v": "volt", "w": "watt", "kw": "kilowatt", "j": "joule",
    "kj": "", "n": "newton", "mol": "mole", "": "unit",
}  # fmt: skip
_UNITS = {word: unit for unit, words in _SPELLINGS.items() for word in (unit, *words.split()) if word.isalpha()}
_POWERS = {"square": "^2", "sq": "^2", "cubic": "^3"}
_VACUOUS = frozenset({"of", "the"})
_UNDRESSED = re.compile(r"[-+\d./ ]*")
_IN_TEXT = re.compile(r"(.*?[^\s\\*])[\s\\*]*\\text\s*\{([^{}]*)\}(.*)")
_IN_WORDS = re.compile(r"(.*?[\d})]|.*\\pi)(\s*)([A-Za-z].*)")
_DEGREES = re.compile(r"(?!.*\\(?:sin|cos|tan|cot|sec|csc))(.+?)\s*\^\s*\{?\s*\\circ\s*\}?\s*([CFKcfk]?)")
_CURRENCY = re.compile(r"([-+]?)\s*(\\dollar|€|£|¥)\s*(.+)")
_UNIT = re.compile(r"\s*[a-z](?:[a-z]|\^\s*-?\d|[\s/*.])*")
_UNIT_PART = re.compile(r"[a-z]+|\^\s*-?\d|/")


def split_unit(text: str) -> tuple[str, str]:
    """(value, unit) of a normalized expression; the unit is "" when there is none."""
    if _UNDRESSED.fullmatch(text):
        return text, ""
    if found := _DEGREES.fullmatch(text):
        return found[1], f"deg{found[2].upper()}"
    if found := _CURRENCY.fullmatch(text):
        value, further = split_unit(found[3].strip())
        currency = "$" if found[2] == "\\dollar" else found[2]
        return found[1] + value, currency if further in ("", currency) else f"{currency} {further}"
    if text.endswith("\\dollar"):
        return text[: -len("\\dollar")].rstrip(), "$"
    if found := _IN_TEXT.fullmatch(text):
        unit = _spelling(found[2] + found[3].replace("\\text", ""), spaced=True, single_letters=True)
        return (text, "") if unit is None else (found[1], unit)
    if found := _IN_WORDS.fullmatch(text):
        unit = _spelling(found[3], spaced=bool(found[2]), single_letters=False)
        return (text, "") if unit is None else (found[1], unit)
    return text, ""


def _spelling(raw: str, spaced: bool, single_letters: bool) -> str | None:
    """One spelling of a unit, or None if this is none. Any word will do after a space; ``5cm`` needs a known unit.

    A single letter is a unit inside ``\\text`` or in a quotient (``55 km/h``) only: in ``5 m`` it may be a variable.
    """
    cleaned = raw.lower().replace("{", "").replace("}", "")
    if not _UNIT.fullmatch(cleaned):
        return None
    spelled = power = ""
    for part in _UNIT_PART.findall(cleaned):
        if part in _POWERS:
            power = _POWERS[part]
        elif part in ("per", "/") or part[0] == "^":
            spelled += "/" if part == "per" else part.replace(" ", "")
        elif part not in _VACUOUS:
            singular = part[:-1] if len(part) > 2 and part.endswith("s") and not part.endswith("ss") else part
            known = _UNITS.get(part, _UNITS.get(singular))
            if known is None and (not spaced or len(part) < 3 or part in FUNCTIONS):
                return None
            if len(part) == 1 and not single_letters and not (spaced and "/" in cleaned):
                return None
            spelled += (singular if known is None else known) + power
            power = ""
    return spelled
