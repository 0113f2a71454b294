r"""The last ``\boxed{...}`` of a text, in one pass whatever the text holds."""

import re

# An escaped character is consumed whole, so the braces of \{1,2\} do not count.
_TOKEN = re.compile(r"\\boxed\s*\{|\\.|[{}]", re.DOTALL)


def last_boxed(text: str) -> str | None:
    r"""Content of the complete ``\boxed{...}`` that opens last, or None. Braces balance; an empty box gives ``""``."""
    open_braces: list[int | None] = []
    last: tuple[int, int] | None = None
    for token in _TOKEN.finditer(text):
        if token[0] == "{":
            open_braces.append(None)
        elif token[0].startswith("\\boxed"):
            open_braces.append(token.end())
        elif token[0] == "}" and open_braces:
            start = open_braces.pop()
            if start is not None and (last is None or start > last[0]):
                last = start, token.start()
    return None if last is None else text[last[0] : last[1]]
