"""Multiple choice: the question with its options, the gold as a letter."""

from collections.abc import Sequence

from data_prep.problem import Refused
from rdiverse_verl.errors import DataError

LETTERS = "ABCDEFGHIJ"


def with_options(question: str, options: Sequence[str]) -> str:
    """The question followed by its options, in R-Zero's layout. Raises DataError for none or more than ten."""
    if not 1 < len(options) <= len(LETTERS):
        raise DataError(f"{len(options)} options; there must be 2 to {len(LETTERS)}")
    listed = "".join(f"({letter}): {option}\n" for letter, option in zip(LETTERS, options, strict=False))
    return f"{question}\nOptions are:\n{listed}"


def checked_letter(letter: str, right: Sequence[int]) -> str:
    """The gold letter, if it names one of the options at ``right``; otherwise Refused."""
    if len(letter) != 1 or LETTERS.find(letter) not in right:
        raise Refused("the answer's letter and the answer disagree")
    return letter
