"""JSON Lines files between phases."""

import json
from pathlib import Path
from typing import Any

from rdiverse_verl.errors import DataError

Record = dict[str, Any]


def write_records(path: Path, records: list[Record]) -> None:
    with path.open("w", encoding="utf-8") as handle:
        for record in records:
            handle.write(json.dumps(record) + "\n")


def read_records(path: Path) -> list[Record]:
    """Raises DataError that names the file and line."""
    records = []
    with path.open(encoding="utf-8") as handle:
        for number, line in enumerate(handle, start=1):
            try:
                records.append(json.loads(line))
            except ValueError as error:
                raise DataError(f"{path}: line {number} is not JSON ({error})") from error
    return records
