"""One spelling for one answer: undo the dressing that LaTeX, markdown and Unicode put around a value.

Every rule is cosmetic: it never changes what the answer means.
"""

import re
import unicodedata
from functools import lru_cache

from rdiverse_verl.grading.spelling import COMMANDS, FUNCTIONS, SCALES, SIGNS, SUBSCRIPTS, SUPERSCRIPTS, WORDS, WRAPPERS

_SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ]+")
_SUBSCRIPT = re.compile("[₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎]+")
_VULGAR_FRACTION = re.compile("[¼-¾⅐-⅞]")
_COMMAND = re.compile(r"\\(?:\\|(?:left|right)\s*\.(?!\d)|([a-zA-Z]+)\s*)")
_SPACE = re.compile(r"(?<!\\)\\[,;: ]|~|&nbsp;|\s+")
_WHOLE_TEXT = re.compile(r"\\text\s*\{((?!\s*[a-zA-Z]{2}\s*\})[^{}]*)\}")
_NUMBER_IN_TEXT = re.compile(r"\\text\s*\{\s*([-+]?\d[\d.,/]*)\s*\}")
_LETTER_IN_TEXT = re.compile(r"(?<![\d)} ])\\text(?:\s*\{\s*([a-zA-Z])\s*\}| ([a-zA-Z])(?![a-zA-Z]))")
_SCALE = re.compile(rf"(?<=\d)\s*(\\text\s*\{{\s*)?({'|'.join(SCALES)})\b\s*", re.IGNORECASE)
_EMPTY_TEXT = re.compile(r"\\text\s*\{\s*\}")
_PERCENT_IN_TEXT = re.compile(r"\\text\s*\{\s*(?:percent|pct|%)\s*\}", re.IGNORECASE)
_ORDINAL = re.compile(
    r"(?<=\d)\s*(?:\^?\s*\{?\s*\\text\s*\{\s*(?:st|nd|rd|th)\s*\}\s*\}?|(?:\^\s*\{)?(?:st|nd|rd|th)\b\}?)"
)
_WORD = re.compile(rf"(?<![a-zA-Z\\])({'|'.join(WORDS)})(?![a-zA-Z])", re.IGNORECASE)
_FUNCTION_IN_TEXT = re.compile(rf"\\text\s*\{{\s*({'|'.join(FUNCTIONS)})\s*\}}\s*")
_FUNCTION_WORD = re.compile(rf"(?<![a-zA-Z\\{{])({'|'.join(FUNCTIONS)})(?=\s*[(^\\])")
_ROOT_WORD = re.compile(r"(?<![a-zA-Z\\])sqrt\s*(?:(\d+(?:\.\d+)?|[a-zA-Z](?![a-zA-Z]))|(?=[({\\]))")
_BRACED_SIGN = re.compile(r"([\^_]) ?\{ ?([a-zA-Z0-9]) ?\}")
_CIRCLE = re.compile(r"\^\s*\{\s*\\circ\s*\}")
# A separator of thousands stands before groups of exactly three digits; a bare comma does so outside brackets only.
_THIN_GROUP = re.compile(r"(?<=\d)(?:,\\!|\{,\}|\\,|\\ )(?=\d{3}(?!\d))")
_COMMA_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_SPACE_GROUPS = re.compile(r"(?<![\d.,] )(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d,]| \d)")
_MIXED = re.compile(r"(?<![\d.])(\d{1,400}) (\d{1,400}) ?/ ?(\d{1,400})(?![\d.])")


@lru_cache(maxsize=65536)
def normalize(answer: str) -> str:
    """The canonical spelling of one extracted answer: plain LaTeX, single spaces, ASCII where possible."""
    text = unwrap(answer if answer.isascii() else _without_unicode(answer)).replace("\\$", "\\dollar ")
    if text.count("$") == 1:
        text = text.replace("$", "\\dollar " if text[0] == "$" else "")
    if "\\" in text:
        text = _COMMAND.sub(_canonical_command, text)
        text = _THIN_GROUP.sub("", text).replace("\\!", "")
        if whole := _WHOLE_TEXT.fullmatch(text):
            text = whole[1]
        text = _NUMBER_IN_TEXT.sub(r"\1", _ORDINAL.sub("", text))
        text = _FUNCTION_IN_TEXT.sub(r"\\\1 ", text)
        text = _LETTER_IN_TEXT.sub(r"\1\2", text)
        text = _CIRCLE.sub(r"^\\circ ", _PERCENT_IN_TEXT.sub("%", text))
    else:
        text = _THIN_GROUP.sub("", _ORDINAL.sub("", text))
    text = _SPACE.sub(" ", text)
    text = _EMPTY_TEXT.sub("", _SCALE.sub(lambda scale: SCALES[scale[2].lower()] + (scale[1] or ""), text))
    text = text.replace("\\%", "%").replace("%", "\\%").replace("**", "^")
    text = _BRACED_SIGN.sub(r"\1\2", text)
    text = text.replace("<=", "\\leq ").replace(">=", "\\geq ").replace("!=", "\\neq ")
    text = _ROOT_WORD.sub(lambda root: f"\\sqrt{{{root[1]}}}" if root[1] else "\\sqrt ", text)
    text = _FUNCTION_WORD.sub(r"\\\1 ", text)
    text = _WORD.sub(lambda word: WORDS[word[1].lower()], text)
    text = _MIXED.sub(_mixed_number, text)
    text = _SPACE_GROUPS.sub(lambda run: run[0].replace(" ", ""), text)
    if not text.startswith(("(", "[", "\\{")):
        text = _COMMA_GROUPS.sub(lambda run: run[0].replace(",", ""), text)
    return unwrap(_SPACE.sub(" ", text))


def unwrap(text: str) -> str:
    """Without surrounding blanks, dollars, bold marks, whole-answer braces and closing punctuation."""
    while True:
        before = text
        text = text.strip().rstrip(",;")
        if text.endswith(".") and not text.endswith(".."):
            text = text[:-1]
        for opening, closing in WRAPPERS:
            if len(text) > len(opening) + len(closing) and text.startswith(opening) and text.endswith(closing):
                inner = text[len(opening) : -len(closing)]
                if opening not in inner:
                    text = inner
        if text.startswith("{") and text.endswith("}") and _closes_at_end(text):
            text = text[1:-1]
        if text == before:
            return text


def _closes_at_end(text: str) -> bool:
    """Whether the first brace is closed by the last sign."""
    depth = 0
    for match in re.finditer(r"\\.|[{}]", text, re.DOTALL):
        depth += (match[0] == "{") - (match[0] == "}")
        if depth == 0 and match[0] == "}":
            return match.end() == len(text)
    return False


def _without_unicode(text: str) -> str:
    text = _SUPERSCRIPT.sub(lambda run: "^{" + run[0].translate(SUPERSCRIPTS) + "}", text)
    text = _SUBSCRIPT.sub(lambda run: "_{" + run[0].translate(SUBSCRIPTS) + "}", text)
    text = _VULGAR_FRACTION.sub(lambda one: " " + unicodedata.normalize("NFKC", one[0]), text)
    return unicodedata.normalize("NFKC", text.translate(SIGNS)).translate(SIGNS)


def _canonical_command(command: re.Match[str]) -> str:
    name = command[1]
    if name is None:
        return command[0] if command[0] == "\\\\" else ""
    canonical = COMMANDS.get(name, f"\\{name} ")
    braced = command.string.startswith("{", command.end())
    return canonical if braced or canonical != "\\text" else "\\text "


def _mixed_number(found: re.Match[str]) -> str:
    whole, top, bottom = found.groups()
    return f"{whole}\\frac{{{top}}}{{{bottom}}}" if 0 < int(top) < int(bottom) else found[0]
