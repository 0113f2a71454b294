"""Local copies: formats, the hub's layouts, and what cannot be read."""

import json
from pathlib import Path

import pytest

from data_prep.duplicates import Seen, normal_question
from data_prep.loading import Source, read_records
from data_prep.problem import Problem
from rdiverse_verl.errors import DataError

SOURCE = Source("someone/something", "test", ("main",))


def ids(local: Path, source: Source = SOURCE) -> list[str]:
    return [str(located.record["id"]) for located in read_records(source, local)]


def write(file: Path, *names: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps({"id": name}) + "\n" for name in names))
    return file


def test_formats(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", "x", "y")
    write(tmp_path / "lines.json", "x", "y")
    (tmp_path / "list.json").write_text('[{"id": "x"}, {"id": "y"}]')
    (tmp_path / "object.json").write_text('{"canary": "c", "examples": [{"id": "x"}, {"id": "y"}]}')
    (tmp_path / "a.csv").write_text('id,text\nx,"a\nb"\ny,c\n')
    for name in ("a.jsonl", "lines.json", "list.json", "object.json", "a.csv"):
        assert ids(tmp_path / name) == ["x", "y"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["test.jsonl", "train.jsonl"], ["test.jsonl"]),
        (["data/test-00000-of-00002.jsonl", "data/test-00001-of-00002.jsonl"], None),
        (["main/test-0.jsonl", "main/train-0.jsonl", "other/test-0.jsonl"], ["main/test-0.jsonl"]),
        (["main/test/0000.jsonl", "main/train/0000.jsonl"], ["main/test/0000.jsonl"]),
        (["everything.jsonl"], ["everything.jsonl"]),
        (["testing.jsonl", "test_part.jsonl"], ["test_part.jsonl"]),
    ],
)
def test_the_files_of_a_split_are_found(tmp_path: Path, files: list[str], expected: list[str] | None) -> None:
    for file in files:
        write(tmp_path / file, file)
    (tmp_path / "README.md").write_text("test")
    assert ids(tmp_path) == (expected or files)


def test_a_missing_split_names_what_there_is(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", "x")
    write(tmp_path / "validation.jsonl", "x")
    with pytest.raises(DataError, match=r"no file of the split 'test'; there are train.jsonl, validation.jsonl"):
        ids(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("test.parquet", b"PAR1", r"test\.parquet: cannot be read"),
        ("test.jsonl", b'{"id": "\xff"}', r"test\.jsonl: cannot be read"),
        ("test.json", b'{"a": [], "b": []}', r"test\.json: holds 2 lists of records"),
        ("test.txt", b"x", r"test\.txt: unknown format"),
    ],
)
def test_an_unreadable_file_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        ids(tmp_path / name)


def test_questions_that_differ_in_space_case_and_delimiters_are_the_same() -> None:
    assert normal_question("Find  $x$ now.") == normal_question("find \\( x \\)\nNOW.")
    assert normal_question("Find $x_1$.") != normal_question("Find $x_2$.")


def test_copies_are_duplicates_and_other_golds_are_conflicts() -> None:
    seen = Seen()
    met = [
        ("Half?", "0.5"),
        ("Half?", "0.5"),
        ("half ?", "\\frac{1}{2}"),
        ("Half?", "2"),
        ("Half?", "2.0"),
        ("Third?", "0.5"),
    ]
    news = [seen.add(Problem(question, gold)) for question, gold in met]
    assert news == [True, False, False, True, False, True]
    assert (seen.duplicates, seen.conflicts) == (3, [("Half?", "0.5", "2")])
