"""Tables of spellings: which signs and commands mean the same."""

# fmt: off
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ", "0123456789+-=()ni")
SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎", "0123456789+-=()")

SIGNS = str.maketrans({
    "\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2014": "-", "\u2044": "/", "÷": "/",
    "×": "*", "·": "*", "∙": "*", "⋅": "*", "√": " sqrt ", "π": "\\pi ", "∞": "\\infty ", "±": "\\pm ",
    "≤": "\\leq ", "≥": "\\geq ", "≠": "\\neq ", "∪": "\\cup ", "∩": "\\cap ", "∈": "\\in ", "∅": "\\emptyset ",
    "°": "^\\circ ", "º": "^\\circ ", "\u200b": "", "\ufeff": "", "“": '"', "”": '"', "‘": "'", "’": "'",
    "α": "\\alpha ", "β": "\\beta ", "γ": "\\gamma ", "θ": "\\theta ", "λ": "\\lambda ", "φ": "\\phi ",
    "ω": "\\omega ", "\x00": "",
})

COMMANDS = {
    "dfrac": "\\frac", "tfrac": "\\frac", "cfrac": "\\frac", "dbinom": "\\binom", "tbinom": "\\binom",
    "le": "\\leq ", "leqslant": "\\leq ", "ge": "\\geq ", "geqslant": "\\geq ", "ne": "\\neq ", "lt": "<", "gt": ">",
    "times": "*", "cdot": "*", "ast": "*", "div": "/", "mp": "\\pm ", "percent": "\\%", "colon": ":",
    "lbrace": "\\{", "rbrace": "\\}", "lbrack": "[", "rbrack": "]", "lvert": "|", "rvert": "|", "vert": "|", "mid": "|",
    "varnothing": "\\emptyset ", "degree": "^\\circ ", "textdegree": "^\\circ ",
    "ldots": "\\dots ", "cdots": "\\dots ", "dotsc": "\\dots ", "dotsb": "\\dots ",
    "land": "\\text{and}", "wedge": "\\text{and}", "lor": "\\text{or}", "vee": "\\text{or}",
} | dict.fromkeys(
    ("text", "mathrm", "mbox", "hbox", "textbf", "textit", "textrm", "textnormal", "operatorname", "texttt",
     "emph"), "\\text"
) | dict.fromkeys(("quad", "qquad", "thinspace"), " ") | dict.fromkeys(
    ("left", "right", "middle", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "limits", "displaystyle",
     "textstyle", "rm", "bf", "mathbf", "mathit", "mathsf", "boldsymbol", "boxed", "fbox"), ""
)

FUNCTIONS = ("sin", "cos", "tan", "cot", "sec", "csc", "log", "ln", "exp", "max", "min", "lim", "gcd", "lcm",
                       "mod", "det", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan")

SCALES = {"thousand": "*10^{3}", "million": "*10^{6}", "billion": "*10^{9}", "trillion": "*10^{12}"}

WORDS = {"pi": "\\pi ", "infinity": "\\infty ", "inf": "\\infty ", "percent": "\\%", "pct": "\\%"}

WRAPPERS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"), ("**", "**"), ("__", "__"), ("*", "*"),
            ("`", "`"), ('"', '"'))
# fmt: on
