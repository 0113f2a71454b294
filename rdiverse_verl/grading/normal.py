"""One spelling for one answer: undo the dressing that LaTeX, markdown and Unicode put around a value.

Every rule is cosmetic: it never changes what the answer means. All patterns run in time linear in the text.
"""

import re
import unicodedata
from functools import lru_cache

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ", "0123456789+-=()ni")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎", "0123456789+-=()")
_SUPERSCRIPT_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ]+")
_SUBSCRIPT_RUN = re.compile("[₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎]+")
_VULGAR = re.compile("[¼-¾⅐-⅞]")
_SYMBOLS = str.maketrans(
    {
        "\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2014": "-", "\u2044": "/", "÷": "/",
        "×": " \\times ", "·": " \\cdot ", "∙": " \\cdot ", "⋅": " \\cdot ", "√": "\\sqrt ", "π": "\\pi ", "∞": "\\infty ",
        "±": "\\pm ", "≤": "\\leq ", "≥": "\\geq ", "≠": "\\neq ", "∪": "\\cup ", "∩": "\\cap ", "∈": "\\in ",
        "∅": "\\emptyset ", "°": "^\\circ ", "º": "^\\circ ", "\u200b": "", "\ufeff": "", "\x00": "",
        "“": '"', "”": '"', "‘": "'", "’": "'",
        "α": "\\alpha ", "β": "\\beta ", "γ": "\\gamma ", "θ": "\\theta ", "λ": "\\lambda ", "φ": "\\phi ", "ω": "\\omega ",
    }
)  # fmt: skip
_SAME_COMMAND = {
    "dfrac": "\\frac", "tfrac": "\\frac", "cfrac": "\\frac", "le": "\\leq ", "leqslant": "\\leq ", "ge": "\\geq ",
    "geqslant": "\\geq ", "ne": "\\neq ", "lt": "<", "gt": ">", "times": "*", "cdot": "*", "ast": "*", "div": "/",
    "lbrace": "\\{", "rbrace": "\\}", "lbrack": "[", "rbrack": "]", "varnothing": "\\emptyset ", "degree": "^\\circ ",
    "lvert": "|", "rvert": "|", "vert": "|", "mid": "|", "ldots": "\\dots ", "cdots": "\\dots ", "dotsc": "\\dots ",
    "colon": ":", "land": "\\text{and}", "wedge": "\\text{and}", "lor": "\\text{or}", "vee": "\\text{or}", "tbinom": "\\binom",
    "dbinom": "\\binom", "mp": "\\pm ", "percent": "\\%", "textdegree": "^\\circ ", "varpi": "\\varpi ", "thinspace": " ",
    "text": "\\text", "mathrm": "\\text", "mbox": "\\text", "textbf": "\\text", "mathbf": "\\text", "textit": "\\text", "mathit": "\\text",
    "textrm": "\\text", "textnormal": "\\text", "operatorname": "\\text", "rm": "", "bf": "", "mathsf": "\\text",
    "texttt": "\\text", "boldsymbol": "\\text", "hbox": "\\text", "emph": "\\text", "quad": " ", "qquad": " ", "left": "",
    "right": "", "big": "", "Big": "", "bigg": "", "Bigg": "", "bigl": "", "bigr": "", "Bigl": "", "Bigr": "", "limits": "",
    "displaystyle": "", "textstyle": "", "middle": "", "boxed": "", "fbox": "",
}  # fmt: skip
_COMMAND = re.compile(r"\\([a-zA-Z]+)(\s*\.(?![\d]))?\s*")
_SPACES = re.compile(r"\\[,;: ]|~|&nbsp;|\s")
_THIN_GROUP = re.compile(r"(?<=\d)(?:,\\!|\{,\}|\\,|\\ |,\\,)(?=\d{3}(?!\d))")
_COMMA_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_SPACE_GROUPS = re.compile(r"(?<![\d.,] )(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d,]| \d)")
_TEXT_OF_ATOM = re.compile(r"\\text(?:\s*\{\s*([-+]?\d[\d.,/]*|[a-zA-Z])\s*\}| ([a-zA-Z])(?![a-zA-Z]))")
_LETTER_WORD = {"pi": "\\pi ", "sqrt": "\\sqrt ", "infinity": "\\infty ", "inf": "\\infty ", "degrees": "^\\circ ",
                "degree": "^\\circ ", "deg": "^\\circ ", "percent": "\\%", "pct": "\\%"}  # fmt: skip
_WORD = re.compile(r"(?<![a-zA-Z\\])(pi|sqrt|infinity|inf|degrees?|deg|percent|pct)(?![a-zA-Z])", re.IGNORECASE)
_MIXED = re.compile(r"(?<![\d.])(\d+)(?:\s+|\s*-\s*(?=\d+/\d+$)(?!))(\d+)\s*/\s*(\d+)(?![\d.])")
_ORDINAL = re.compile(r"(?<=\d)\s*(?:\^\s*\{?\s*\\text\s*\{\s*(?:st|nd|rd|th)\s*\}\s*\}?|(?:st|nd|rd|th)\b)")
_BLANKS = re.compile(r"\s+")
_WRAPPERS = (
    ("$$", "$$"),
    ("$", "$"),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
    ("**", "**"),
    ("__", "__"),
    ("*", "*"),
    ("`", "`"),
    ('"', '"'),
)


@lru_cache(maxsize=65536)
def normalize(answer: str) -> str:
    """The canonical spelling of one extracted answer: plain LaTeX, single spaces, ASCII where possible."""
    text = answer
    if not text.isascii():
        text = _to_ascii(text)
    text = unwrap(text)
    text = _COMMAND.sub(_same_command, text.replace("\\$", "\\dollar "))
    text = _THIN_GROUP.sub("", text)
    text = text.replace("\\!", "").replace("\\\\", "\n\\\\\n") if "\\" in text else text
    text = _SPACES.sub(" ", text.replace("\n\\\\\n", "\x00")).replace("\x00", "\\\\")
    text = _ORDINAL.sub("", text)
    text = _TEXT_OF_ATOM.sub(r"\1\2", text)
    text = text.replace("\\%", "%").replace("%", "\\%")
    text = text.replace("<=", "\\leq ").replace(">=", "\\geq ").replace("!=", "\\neq ").replace("**", "^")
    text = _WORD.sub(lambda word: _LETTER_WORD[word.group().lower()], text)
    text = text.replace("^{\\circ }", "^\\circ ").replace("^{ \\circ }", "^\\circ ")
    text = _SPACE_GROUPS.sub(lambda run: run.group().replace(" ", ""), text)
    if not text.startswith(("(", "[", "\\{")):
        text = _COMMA_GROUPS.sub(lambda run: run.group().replace(",", ""), text)
    text = _MIXED.sub(_mixed_number, text)
    return unwrap(_BLANKS.sub(" ", text))


def unwrap(text: str) -> str:
    """Without surrounding blanks, dollars, bold marks, whole-answer braces and a closing full stop."""
    while True:
        before = text
        text = text.strip().rstrip(",;")
        if text.endswith(".") and not text.endswith(".."):
            text = text[:-1]
        for opening, closing in _WRAPPERS:
            if len(text) > len(opening) + len(closing) and text.startswith(opening) and text.endswith(closing):
                inner = text[len(opening) : -len(closing)]
                if opening not in inner:
                    text = inner
        if text.startswith("{") and text.endswith("}") and _closes_at_end(text):
            text = text[1:-1]
        if text == before:
            return text


def _closes_at_end(text: str) -> bool:
    depth = 0
    escaped = False
    for place, sign in enumerate(text):
        if escaped:
            escaped = False
        elif sign == "\\":
            escaped = True
        elif sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                return place == len(text) - 1
    return False


def _to_ascii(text: str) -> str:
    text = _SUPERSCRIPT_RUN.sub(lambda run: "^{" + run.group().translate(_SUPERSCRIPTS) + "}", text)
    text = _SUBSCRIPT_RUN.sub(lambda run: "_{" + run.group().translate(_SUBSCRIPTS) + "}", text)
    text = _VULGAR.sub(lambda one: " " + unicodedata.normalize("NFKC", one.group()), text)
    text = unicodedata.normalize("NFKC", text.translate(_SYMBOLS))
    return text.translate(_SYMBOLS)


def _same_command(command: re.Match[str]) -> str:
    name, ending_dot = command[1], command[2]
    if ending_dot and name in ("left", "right"):
        return ""
    same = _SAME_COMMAND.get(name, f"\\{name} ")
    braced = command.string[command.end() : command.end() + 1] == "{"
    return (same if braced or same != "\\text" else "\\text ") + (ending_dot or "")


def _mixed_number(found: re.Match[str]) -> str:
    whole, top, bottom = found.groups()
    return f"{whole}\\frac{{{top}}}{{{bottom}}}" if int(top[:9]) < int(bottom[:9]) else found.group()
