"""One problem of a data set, and how its fields are read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rdiverse_verl.errors import DataError

Record = Mapping[str, Any]


class Refused(DataError):
    """A row that is left out and counted; ``reason`` is one of a few fixed phrases."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Problem:
    """``gold`` says all that is required; of ``answers``, any one is right. ``id`` is the source's own."""

    question: str
    gold: str
    id: str = ""
    answers: tuple[str, ...] = ()


def field(record: Record, name: str) -> Any:
    """A field that the layout has. Raises DataError that lists the columns there are."""
    if name not in record:
        raise DataError(
            f"no field {name!r}; the columns are {', '.join(map(str, record))}: is this the right data set?"
        )
    return record[name]


def text(record: Record, name: str) -> str:
    """A field that must be text with content, without outer white space."""
    value = field(record, name)
    if not isinstance(value, str):
        raise DataError(f"field {name!r} is {value!r}, not a text")
    if not value.strip():
        raise Refused(f"empty {name}")
    return value.strip()
