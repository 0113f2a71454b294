"""Read a normalized answer into its shape, down to leaves, which are plain expressions. Values are not looked at."""

import re
from dataclasses import replace
from functools import lru_cache

from rdiverse_verl.grading.answer import Choice, Interval, Leaf, Matrix, Node, Relation, Several, Words
from rdiverse_verl.grading.spelling import FUNCTIONS
from rdiverse_verl.grading.units import split_unit

_PLAIN = re.compile(r"[-+]?[\d./]+")
_SIGNS = re.compile(
    r"\\(?:begin|end)\b|\\text\s*\{\s*(?:and|or)\s*\}|\\[a-zA-Z]+|\\.|\b(?:and|or)\b|[()\[\]{},;=<>:]", re.IGNORECASE
)
_OPENING = frozenset({"(", "[", "{", "\\{", "\\begin"})
_CLOSING = frozenset({")", "]", "}", "\\}", "\\end"})
_LIST_SIGNS = frozenset({",", ";", "and", "or"})
_RELATIONS = {"=": "=", "<": "<", ">": "<", "\\leq": "<=", "\\geq": "<=", "\\neq": "!="}
_TURNED = frozenset({">", "\\geq"})
_NAME = re.compile(r"(?:[a-zA-Z]|\\[a-zA-Z]+)(?:_\s*\{?\s*\w+\s*\}?)?'*(?:\s*\(\s*[a-z](?:\s*,\s*[a-z])*\s*\))?")
_CHOICE = re.compile(
    r"(?:(?:answer|option|choice)\s*:?\s*)?(?:\(([A-J])\)|([A-J])(?:[).:]|$))"
    r"(?:\s+(?![-+*/=<>^,;&|]|and\b|or\b)(.*))?",
    re.IGNORECASE,
)
_CHOICE_IN_TEXT = re.compile(r"\\text\s*\{\s*(\(?[A-J]\)?[.:]?)\s*\}(.*)")
_TEXT = re.compile(r"\\text\s*\{([^{}]*)\}")
_WORD = re.compile(rf"(?<![\\a-zA-Z{{])(?!(?:{'|'.join(FUNCTIONS)})\b)[a-zA-Z]{{3,}}")
_BASE = re.compile(r"([0-9A-F]{1,64})\s*_\s*\{?\s*(\d{1,2})\s*\}?")
_ALL_REALS = frozenset({"\\mathbb {R}", "\\mathbb R", "\\text{all real numbers}", "all real numbers"})
_PLUS_MINUS = re.compile(r"\\pm(?![a-zA-Z]) ?")
_MATRIX = re.compile(r"\\begin\s*\{\s*([pbBvV]?matrix|array)\s*\}(.*)\\end\s*\{\s*\1\s*\}", re.DOTALL)
_NO_SOLUTION = re.compile(
    r"no (?:such )?(?:solutions?|numbers?|values?|integers?|[a-z])(?: exists?)?"
    r"|there (?:is|are|exists?) no .{1,40}|none exists?"
)


@lru_cache(maxsize=65536)
def read(text: str) -> Node:
    """The shape of a normalized answer."""
    if _PLAIN.fullmatch(text):
        return Leaf(text)
    if text in _ALL_REALS:
        return Interval(Leaf("-\\infty"), Leaf("\\infty"), False, False)
    if choice := _choice(text):
        return choice
    if len(_PLUS_MINUS.findall(text)) == 1:
        return Several("list", (read(_PLUS_MINUS.sub("+", text)), read(_PLUS_MINUS.sub("-", text))))
    pieces, _ = split(text, frozenset({"\\cup"}))
    if len(pieces) > 1:
        return Several("union", tuple(read(piece) for piece in pieces))
    pieces, _ = split(text, frozenset({"\\in"}))
    if len(pieces) == 2 and _NAME.fullmatch(pieces[0]):
        return _named(read(pieces[1]), pieces[0])
    pieces, _ = split(text, _LIST_SIGNS)
    pieces = [piece for piece in pieces if piece]
    if len(pieces) > 1:
        ordered = any(piece == "\\dots" for piece in pieces)
        return Several("tuple" if ordered else "list", tuple(read(piece) for piece in pieces))
    return _bracketed(text) or _matrix(text) or _related(text) or _single(text)


def split(text: str, signs: frozenset[str]) -> tuple[list[str], list[str]]:
    """Cut at the given signs outside all brackets: (pieces, signs found)."""
    pieces: list[str] = []
    found: list[str] = []
    depth = start = 0
    for match in _SIGNS.finditer(text):
        sign = match.group()
        if sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth = max(depth - 1, 0)
        elif depth == 0:
            if sign.startswith("\\text"):
                sign = sign[5:].strip(" {}")
            if sign.lower() in signs:
                pieces.append(text[start : match.start()].strip())
                found.append(sign)
                start = match.end()
    pieces.append(text[start:].strip())
    return pieces, found


def _choice(text: str) -> Choice | None:
    if found := _CHOICE_IN_TEXT.fullmatch(text):
        text = f"{found[1]} {found[2].strip()}".strip()
    found = _CHOICE.fullmatch(text)
    letter = (found[1] or found[2]) if found else ""
    if not found or not letter.isupper():
        return None
    content = (found[3] or "").strip()
    return Choice(letter, read(content) if content else None)


def _bracketed(text: str) -> Node | None:
    """``(a, b)``, ``[a, b)``, ``\\{a, b\\}``: brackets that span the whole answer and hold a list."""
    if text.startswith("\\{") and text.endswith("\\}"):
        inner = text[2:-2]
        pieces, _ = split(inner, frozenset({",", ";"}))
        if "|" in inner or ":" in inner or not _spans(text):
            return None
        return Several("set", tuple(read(piece) for piece in pieces)) if inner.strip() else Words("no solution")
    if not (text.startswith(("(", "[")) and text.endswith((")", "]")) and _spans(text)):
        return None
    pieces, _ = split(text[1:-1], frozenset({",", ";"}))
    if len(pieces) < 2 or not all(pieces):
        return None
    if len(pieces) == 2 and (text[0], text[-1]) != ("(", ")"):
        return Interval(_leaf(pieces[0]), _leaf(pieces[1]), text[0] == "[", text[-1] == "]")
    return Several("tuple", tuple(read(piece) for piece in pieces))


def _spans(text: str) -> bool:
    """Whether the first bracket is closed by the last sign."""
    depth = 0
    for match in _SIGNS.finditer(text):
        sign = match.group()
        depth += (sign in _OPENING) - (sign in _CLOSING)
        if depth == 0:
            return match.end() == len(text)
    return False


def _matrix(text: str) -> Matrix | None:
    found = _MATRIX.fullmatch(text)
    if not found:
        return None
    body = re.sub(r"^\s*\{[lcr|]*\}", "", found[2])
    rows = [row for row in body.split("\\\\") if row.strip()]
    cells = tuple(tuple(read(cell.strip()) for cell in row.split("&")) for row in rows)
    return Matrix("determinant" if found[1] in ("vmatrix", "Vmatrix") else "matrix", cells)


def _related(text: str) -> Node | None:
    """Equations and inequalities. A name on the left (``x = 5``, ``f(x) = 5``) only labels the value."""
    pieces, signs = split(text, frozenset(_RELATIONS))
    if not signs or not all(pieces):
        return None
    if set(signs) == {"="}:
        first, last = (pieces[0], pieces[-1]) if _NAME.fullmatch(pieces[0]) else (pieces[-1], pieces[0])
        if _NAME.fullmatch(first):
            return _named(read(last), first)
        return Relation("=", pieces[0], pieces[-1])
    if len(pieces) == 2:
        left, right = reversed(pieces) if signs[0] in _TURNED else pieces
        return Relation(_RELATIONS[signs[0]], left, right)
    if len(pieces) == 3 and _NAME.fullmatch(pieces[1]) and len({sign in _TURNED for sign in signs}) == 1:
        if signs[0] in _TURNED:
            pieces, signs = pieces[::-1], signs[::-1]
        closed = [_RELATIONS[sign] == "<=" for sign in signs]
        if "=" not in signs and "\\neq" not in signs:
            return Interval(_leaf(pieces[0]), _leaf(pieces[2]), closed[0], closed[1], pieces[1])
    return None


def as_interval(relation: Relation) -> Interval | None:
    """``x < 3`` as the interval it describes."""
    if relation.op not in ("<", "<="):
        return None
    closed = relation.op == "<="
    if _NAME.fullmatch(relation.left) and not _NAME.fullmatch(relation.right):
        return Interval(Leaf("-\\infty"), _leaf(relation.right), False, closed, relation.left)
    if _NAME.fullmatch(relation.right) and not _NAME.fullmatch(relation.left):
        return Interval(_leaf(relation.left), Leaf("\\infty"), closed, False, relation.right)
    return None


def _named(node: Node, name: str) -> Node:
    if isinstance(node, Leaf | Interval) and not node.name:
        return replace(node, name=name.replace(" ", ""))
    return node


def _single(text: str) -> Node:
    pieces, _ = split(text, frozenset({":"}))
    if len(pieces) > 1 and all(any(sign.isalnum() for sign in piece) for piece in pieces):
        return Several("ratio", tuple(read(piece) for piece in pieces))
    leaf = _leaf(text)
    if not leaf.mark and (_TEXT.search(text) or _WORD.search(text) or text == "\\emptyset"):
        return Words(_wording(text))
    return leaf


def _leaf(text: str) -> Leaf:
    if text.endswith("\\%"):
        bare = text[:-2].strip()
        return Leaf(f"({bare})/100", mark="%", bare=bare)
    if based := _BASE.fullmatch(text):
        try:
            return Leaf(str(int(based[1], int(based[2]))), mark=f"_{based[2]}", bare=based[1])
        except ValueError:
            return Leaf(text)
    bare, unit = split_unit(text) if text else (text, "")
    return Leaf(bare, mark=unit, bare=bare if unit else "")


def _wording(text: str) -> str:
    plain = _TEXT.sub(r" \1 ", text)
    plain = " ".join(plain.casefold().strip(" .!'\"").split())
    if plain in ("\\emptyset", "empty set", "the empty set") or _NO_SOLUTION.fullmatch(plain):
        return "no solution"
    return plain
