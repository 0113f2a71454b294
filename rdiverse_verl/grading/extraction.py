"""Find the final answer in a response: what stands in its last complete box, after the reasoning."""

import re
from typing import Literal

# "box": the last box only. "line": a box, or else the last "Answer: ..." or "#### ..." line. "bare": a box, or else the
# whole text.
Form = Literal["box", "line", "bare"]

_TOKEN = re.compile(r"\\f?box(?:ed)?(?![a-zA-Z])\s*|\\.|[{}]", re.DOTALL)
_BETWEEN_BOXES = re.compile(r"(?:[\s,;$]|\\[()\[\],;]|\band\b|\bor\b|\\text\{\s*(?:and|or)\s*\})*")
_LINE = re.compile(
    r"(?:^|\n)[ \t]*####[ \t]*(?P<marked>[^\n]+)"
    r"|\b(?:final[ \t]+)?answer(?:[ \t]*\**[ \t]*:|[ \t]+is\b[ \t]*:?)[ \t]*(?P<said>[^\n]+)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\s${},]+")
_PROSE = re.compile(r"[,.;][ \t]+[A-Za-z]{2}")


def extract(text: str, form: Form = "box") -> str | None:
    """The final answer of a response, or None when it has none.

    The last complete box wins, and boxes that stand side by side are read as one list. An unterminated or an empty box
    is no answer, nor is anything inside ``<think>``. Pass the response alone: a prompt's own boxes would be taken for
    answers.
    """
    return ", ".join(answer_parts(text, form)) or None


def answer_parts(text: str, form: Form = "box") -> list[str]:
    """The contents of the last run of neighbouring boxes, repeats dropped; [] if there is no answer."""
    text = after_reasoning(text)
    last = max(text.rfind("\\boxed"), text.rfind("\\fbox"))
    if last < 0:
        return _without_box(text, form)
    boxes, source = _complete_boxes(text[last:]), text[last:]
    if len(boxes) != 1 or _neighbour_before(text, last):
        boxes, source = _complete_boxes(text), text
    run: list[str] = []
    end_of_previous = None
    for start, inner_start, inner_end, end in boxes:
        content = source[inner_start:inner_end].strip()
        if end_of_previous is None or not _BETWEEN_BOXES.fullmatch(source, end_of_previous, start):
            run = []
        if content not in run:
            run.append(content)
        end_of_previous = end
    return [] if "" in run else run


def after_reasoning(text: str) -> str:
    """What follows the last ``</think>``; nothing if a ``<think>`` is never closed."""
    tail = text.rpartition("</think>")[2]
    return "" if "<think>" in tail else tail


def _neighbour_before(text: str, start: int) -> bool:
    before = text[:start].rstrip(" ,;$\n\t([\\")
    return before.endswith(("}", "and", "or"))


def _complete_boxes(text: str) -> list[tuple[int, int, int, int]]:
    """(start, inner start, inner end, end) of every outermost closed box, left to right, in one pass."""
    found: list[tuple[int, int, int, int]] = []
    open_braces: list[tuple[int, int] | None] = []  # (start, inner start) for a brace that opens a box, None for others
    pending: tuple[int, int] | None = None  # a box command waiting for its argument: (start, end of command)
    for token in _TOKEN.finditer(text):
        word = token.group()
        if pending and token.start() > pending[1]:
            _add_unbraced(text, pending, found)
            pending = None
        if word == "{":
            open_braces.append((pending[0], token.end()) if pending else None)
            pending = None
        elif word == "}":
            opened = open_braces.pop() if open_braces else None
            if opened:
                while found and found[-1][0] > opened[0]:
                    found.pop()
                found.append((opened[0], opened[1], token.start(), token.end()))
        elif "box" in word:
            pending = (token.start(), token.end())
    if pending:
        _add_unbraced(text, pending, found)
    return found


def _add_unbraced(text: str, pending: tuple[int, int], found: list[tuple[int, int, int, int]]) -> None:
    """``\\boxed 5``: the argument is the next word."""
    start, command_end = pending
    word = _WORD.match(text, command_end)
    if word and command_end > start and text[command_end - 1].isspace():
        found.append((start, word.start(), word.end(), word.end()))


def _without_box(text: str, form: Form) -> list[str]:
    answer = text if form == "bare" else ""
    if form == "line":
        for match in _LINE.finditer(text):
            answer = match["marked"] or match["said"]
        prose = _PROSE.search(answer)
        answer = answer[: prose.start()] if prose else answer
        if answer.count("**") % 2:  # half of ``**Answer: 42**``
            answer = answer.replace("**", "")
    answer = answer.strip()
    return [answer] if answer else []
