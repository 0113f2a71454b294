"""Where a response can be cut into reasoning steps (ExTra, Sec. 4.3), found in its text and told in tokens.

Tokenizers glue newlines to punctuation (".\\n\\n", ":\\n\\n", "$\\n" are one token each), so that looking for a newline
token misses most of them. The text of each token is looked at instead.
"""

import re
from collections.abc import Sequence

import numpy as np

from rdiverse_verl.errors import ConfigError

# not the task's own "put your final answer within \\boxed{}", which a policy may repeat before it begins
FINAL_ANSWER = re.compile(r"\\boxed\s*\{\s*[^}\s.]|</think>|<answer>|final answer\W*(?:is\b|[:=])", re.IGNORECASE)


def step_cuts(
    pieces: Sequence[str], *, min_tokens: int = 32, max_cuts: int | None = 15, max_share: float = 0.8
) -> np.ndarray:
    """Lengths, in tokens, of the prefixes of a response that end with a step.

    A step ends with a token whose text holds a newline, unless the next one still belongs to the same blank lines.
    No prefix reaches into the first final answer (``\\boxed{...}``, ``</think>``, ``<answer>``, "final answer is"): the
    answers of a hard prompt are all wrong, and a prefix that holds one has the lowest entropy of all.

    Args:
        pieces: decoded text of each token, special tokens as ""; joined they are the response.
        min_tokens: least distance of a cut from the one before, and of the first from the start. The paper gives no
            number; 32 is the released code's.
        max_cuts: keep at most so many, evenly spaced from the first to the last; None for all. The paper gives no
            number; 15 is the released code's.
        max_share: no prefix is longer than this share of the response (App. C.1 goes to 80 %).

    Returns:
        cut_P, int64, ascending, each in 1 .. max_share * len(pieces). Empty where the response has no such place.
    """
    if min_tokens < 1 or not 0 < max_share <= 1 or (max_cuts is not None and max_cuts < 1):
        given = f"{min_tokens}, {max_cuts} and {max_share}"
        raise ConfigError(f"steps need min_tokens >= 1, max_cuts >= 1 and max_share in (0, 1], not {given}")
    limit = min(int(max_share * len(pieces) + 1e-9), _tokens_before_answer(pieces))
    cuts: list[int] = []
    for cut in _line_ends(pieces):
        if cut > limit:
            break
        if cut - (cuts[-1] if cuts else 0) >= min_tokens:
            cuts.append(cut)
    return _evenly_spaced(np.array(cuts, dtype=np.int64), max_cuts)


def _line_ends(pieces: Sequence[str]) -> list[int]:
    ends = []
    for place, piece in enumerate(pieces):
        follows_blank = place + 1 < len(pieces) and "\n" in pieces[place + 1] and not pieces[place + 1].strip()
        if "\n" in piece and not follows_blank:
            ends.append(place + 1)
    return ends


def _tokens_before_answer(pieces: Sequence[str]) -> int:
    found = FINAL_ANSWER.search("".join(pieces))
    if found is None:
        return len(pieces)
    end_T = np.cumsum([len(piece) for piece in pieces])
    return int(np.searchsorted(end_T, found.start(), side="right"))


def _evenly_spaced(cut_P: np.ndarray, most: int | None) -> np.ndarray:
    if most is None or len(cut_P) <= most:
        return cut_P
    return cut_P[np.rint(np.linspace(0, len(cut_P) - 1, most)).astype(np.int64)]
