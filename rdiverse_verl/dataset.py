"""Parquet files in verl's columns: one schema for every file this project writes, and checks for any file it reads."""

from collections.abc import Iterable, Sequence
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
        (
            "extra_info",
            pa.struct(
                [
                    ("index", pa.int64()),
                    ("split", pa.string()),
                    ("id", pa.string()),
                    ("answer_form", pa.string()),
                    ("answer_mode", pa.string()),
                    ("answers", pa.list_(pa.string())),
                ]
            ),
        ),
    ]
)

# How the prompt asks for the answer: in a box, or on a last line "Answer: ...".
ANSWER_FORMS = ("box", "line")
# "all": a response must give all of ground_truth. "any": one of extra_info.answers is enough.
ANSWER_MODES = ("all", "any")

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
    style: str = "rule",
    answer_form: str = "box",
    answers: Sequence[str] = (),
) -> Row:
    """One row in verl's columns. ``index`` is unique in its file; ``id`` is the row's name at its source.

    ``style`` is "rule" where the answer is compared with ``ground_truth``, "model" where models judge. ``answers``
    lists the golds of which any one is right; without it all that ``ground_truth`` says is required.
    """
    return {
        "data_source": data_source,
        "prompt": prompt,
        "ability": ability,
        "reward_model": {"style": style, "ground_truth": ground_truth},
        "extra_info": {
            "index": index,
            "split": split,
            "id": id,
            "answer_form": answer_form,
            "answer_mode": "any" if answers else "all",
            "answers": list(answers),
        },
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
    for name in ("reward_model", "extra_info"):
        if not isinstance(row.get(name) or {}, dict):
            yield f"{name} is {row[name]!r}, not a struct"
            return
    gold = (row.get("reward_model") or {}).get("ground_truth")
    if not isinstance(gold, str):
        yield f"reward_model.ground_truth is {gold!r}, not a text"
    extra_info = row.get("extra_info") or {}
    if not isinstance(extra_info.get("index"), int):
        yield "extra_info.index is not a whole number"
    yield from _answer_problems(extra_info)


def _answer_problems(extra_info: Row) -> Iterable[str]:
    """Rows of other tools lack these keys; what is there must be right."""
    form, mode, answers = (extra_info.get(key) for key in ("answer_form", "answer_mode", "answers"))
    if form is not None and form not in ANSWER_FORMS:
        yield f"extra_info.answer_form is {form!r}, not one of {', '.join(ANSWER_FORMS)}"
    if mode is not None and mode not in ANSWER_MODES:
        yield f"extra_info.answer_mode is {mode!r}, not one of {', '.join(ANSWER_MODES)}"
    if mode == "any" and not (answers and all(isinstance(answer, str) and answer.strip() for answer in answers)):
        yield f"extra_info.answers is {answers!r}, not a list of texts, though extra_info.answer_mode is 'any'"
