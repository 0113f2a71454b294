"""Parquet in verl's columns: what is written can be read, and what is wrong is named with its row."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rdiverse_verl.dataset import SCHEMA, Row, make_row, read_rows, write_rows
from rdiverse_verl.errors import DataError


def row(index: int, **changes: Any) -> Row:
    prompt = [{"role": "user", "content": f"question {index}"}]
    return make_row(data_source="test", prompt=prompt, ground_truth="7", index=index, split="train") | changes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    write_rows(path, [row(0), row(1)])
    return path


def test_rows_come_back_as_written(file: Path) -> None:
    assert read_rows(file) == [row(0), row(1)]


def test_several_answers_are_kept_with_how_many_are_needed() -> None:
    several = make_row(data_source="test", prompt=[], ground_truth="2", index=0, split="test", answers=["2", "4/2"])
    assert (several["extra_info"]["answer_mode"], several["extra_info"]["answers"]) == ("any", ["2", "4/2"])
    assert row(0)["extra_info"]["answer_mode"] == "all"


def test_files_carry_no_metadata_of_a_library(file: Path) -> None:
    assert pq.read_schema(file).metadata is None


def test_two_writes_are_equal_bytes(tmp_path: Path, file: Path) -> None:
    write_rows(tmp_path / "again.parquet", [row(0), row(1)])
    assert (tmp_path / "again.parquet").read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (row(1, prompt=[]), "row 1: prompt is not a non-empty list"),
        (row(1, prompt=[{"role": "user", "content": ""}]), "row 1: prompt holds a message without"),
        (row(1, data_source=""), "row 1: data_source is not a text"),
        (row(1, reward_model={"style": "rule", "ground_truth": None}), "row 1: reward_model.ground_truth is None"),
        (row(1, extra_info={"index": None, "split": "x", "id": ""}), "row 1: extra_info.index is not a whole number"),
        (row(0), "row 1: extra_info.index 0 was used by row 0 already"),
        (
            row(1, extra_info={"index": 1, "answer_form": "bare"}),
            "row 1: extra_info.answer_form is 'bare', not one of box, line",
        ),
        (row(1, extra_info={"index": 1, "answer_mode": "one"}), "row 1: extra_info.answer_mode is 'one', not one of"),
        (row(1, extra_info={"index": 1, "answer_mode": "any"}), "row 1: extra_info.answers is None, not a list"),
    ],
)
def test_a_wrong_row_is_named_when_written_and_when_read(tmp_path: Path, bad: Row, message: str) -> None:
    path = tmp_path / "bad.parquet"
    with pytest.raises(DataError, match=message):
        write_rows(path, [row(0), bad])
    assert not path.exists()
    pq.write_table(pa.Table.from_pylist([row(0), bad], schema=SCHEMA), path)
    with pytest.raises(DataError, match=r"bad\.parquet: " + message):
        read_rows(path)


@pytest.mark.parametrize("size", [0, 3, 100])
def test_a_truncated_file_is_refused(file: Path, size: int) -> None:
    os.truncate(file, size)
    with pytest.raises(DataError, match=r"rows\.parquet: not a readable parquet file"):
        read_rows(file)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.parquet"
    pq.write_table(pa.Table.from_pylist([row(0)], schema=SCHEMA).drop_columns(["prompt"]), path)
    with pytest.raises(DataError, match=r"bad\.parquet: lacks the column\(s\) prompt"):
        read_rows(path)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    pq.write_table(SCHEMA.empty_table(), path)
    with pytest.raises(DataError, match=r"empty\.parquet: holds no rows"):
        read_rows(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.parquet: no such file"):
        read_rows(tmp_path / "none.parquet")
