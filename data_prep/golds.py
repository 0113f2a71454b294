"""Gold answers as text, whatever a data set stores."""

import re
from decimal import Decimal
from typing import Any

from data_prep.problem import Refused
from rdiverse_verl.errors import DataError
from rdiverse_verl.grading import extract

_NUMBER = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?")


def as_text(value: Any) -> str:
    """34 and 34.0 give "34"; text loses outer white space and one pair of dollars.

    Raises Refused for no answer, DataError for a type that is no single answer.
    """
    if value is None or value == "":
        raise Refused("no answer")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DataError(f"the answer is {value!r}, not a text or a number")
    if isinstance(value, str):
        return _without_dollars(value.strip())
    number = Decimal(repr(value))
    if not number.is_finite():
        raise Refused("no answer")
    return format(number.to_integral_value() if number == number.to_integral_value() else number, "f")


def boxed(solution: str) -> str:
    r"""The answer that a worked solution boxes, ``\fbox{}`` and ``\boxed 2`` included. Raises Refused."""
    answer = extract(solution)
    if not answer or not answer.strip():
        raise Refused("no box, or an empty one, in the solution")
    return answer.strip()


def after_hashes(solution: str) -> str:
    """The number after the last ``####``: sign kept, thousands commas and a plus sign dropped. Raises Refused."""
    _, marker, answer = solution.rpartition("####")
    answer = answer.strip().removeprefix("$")
    if not marker or not any(map(str.isdigit, answer)) or not _NUMBER.fullmatch(answer):
        raise Refused("no number after ####")
    return answer.replace(",", "").removeprefix("+")


def whole_number(value: Any, largest: int) -> str:
    r"""A contest answer up to ``largest``: "025" gives "25", "336^\circ" gives "336". Raises DataError for others."""
    answer = as_text(value).removesuffix("^\\circ").removesuffix("°")
    if not answer.isdecimal() or int(answer) > largest:
        raise DataError(f"the answer is {value!r}, not a whole number from 0 to {largest}")
    return str(int(answer))


def _without_dollars(answer: str) -> str:
    inner = answer[1:-1]
    single = len(answer) > 2 and answer[0] == answer[-1] == "$" and "$" not in inner and not inner.endswith("\\")
    return inner.strip() if single else answer
