"""Parquet files in verl's columns: one schema for every file this project writes, and the checks for any file it reads."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rdiverse_verl.errors import DataError

# One fixed type for every file: verl concatenates files, and structs that differ cannot be joined.
SCHEMA = pa.schema(
    [
        ("data_source", pa.string()),
        ("prompt", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
        ("ability", pa.string()),
        ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", pa.string())])),
        ("extra_info", pa.struct([("index", pa.int64()), ("split", pa.string()), ("id", pa.string())])),
    ]
)

Row = dict[str, Any]


def make_row(
    *,
    data_source: str,
    prompt: list[dict[str, str]],
    ground_truth: str,
    index: int,
    split: str,
    id: str = "",
    ability: str = "math",
) -> Row:
    """One row in verl's columns. ``index`` is unique in its file; ``id`` is the row's name at its source."""
    return {
        "data_source": data_source,
        "prompt": prompt,
        "ability": ability,
        "reward_model": {"style": "rule", "ground_truth": ground_truth},
        "extra_info": {"index": index, "split": split, "id": id},
    }


def write_rows(path: Path, rows: list[Row]) -> None:
    """Check and write rows; raises DataError with the row number."""
    check_rows(rows, source=str(path))
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path)


def read_rows(path: Path) -> list[Row]:
    """Read and check a file.

    Raises:
        DataError: the file is missing, is no parquet, lacks a column, is empty, or holds a malformed row.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a readable parquet file ({error}); write it again") from error
    missing = [name for name in SCHEMA.names if name not in table.column_names]
    if missing:
        raise DataError(f"{path}: lacks the column(s) {', '.join(missing)}; verl needs {', '.join(SCHEMA.names)}")
    rows = table.to_pylist()
    check_rows(rows, source=str(path))
    return rows


def check_rows(rows: list[Row], source: str) -> None:
    """Raises DataError that names the first wrong row and its key."""
    if not rows:
        raise DataError(f"{source}: holds no rows")
    seen: dict[Any, int] = {}
    for number, row in enumerate(rows):
        for problem in _problems(row):
            raise DataError(f"{source}: row {number}: {problem}")
        index = row["extra_info"]["index"]
        if index in seen:
            raise DataError(f"{source}: row {number}: extra_info.index {index} was used by row {seen[index]} already")
        seen[index] = number


def _problems(row: Row) -> Iterable[str]:
    prompt = row.get("prompt")
    if not isinstance(prompt, list) or not prompt:
        yield "prompt is not a non-empty list of messages"
    elif any(
        not isinstance(message, dict) or not message.get("role") or not message.get("content") for message in prompt
    ):
        yield "prompt holds a message without role or content"
    if not isinstance(row.get("data_source"), str) or not row["data_source"]:
        yield "data_source is not a text"
    gold = (row.get("reward_model") or {}).get("ground_truth")
    if not isinstance(gold, str):
        yield f"reward_model.ground_truth is {gold!r}, not a text"
    if not isinstance((row.get("extra_info") or {}).get("index"), int):
        yield "extra_info.index is not a whole number"
