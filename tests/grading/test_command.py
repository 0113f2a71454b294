"""``rdiverse grade`` as a function."""

import json

import pytest

from rdiverse_verl.errors import DataError
from rdiverse_verl.grading.command import grade_file

ROWS = [
    (r"so \boxed{\frac12}", "0.5", "correct"),
    ("42", "42", "correct"),
    ("x", "y", "wrong"),
    (r"\boxed{", "5", "unparsable"),
    (r"\boxed{\sin^2 x}", r"1-\cos^2 x", "correct"),
    ("５", "5", "correct"),
] * 20


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps({"prediction": p, "gold": g, "id": 3}) + "\n" for p, g, _ in ROWS) + "\n")
    return path


def test_verdicts_come_in_order_and_counters_on_stderr(jsonl, tmp_path, capsys):
    grade_file(jsonl, stats=True)
    printed = capsys.readouterr()
    verdicts = [json.loads(line) for line in printed.out.splitlines()]
    assert [row["verdict"] for row in verdicts] == [kind for _, _, kind in ROWS]
    assert verdicts[0]["answer"] == r"\frac12"
    assert json.loads(printed.err)["grader/correct"] >= 80
    grade_file(jsonl, out=tmp_path / "verdicts.jsonl")
    assert (tmp_path / "verdicts.jsonl").read_text() == printed.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.jsonl", "verdicts.jsonl"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{not json", "not JSON"),
        ('["a", "b"]', "not an object"),
        ('{"prediction": "5"}', "'gold' must be text, not 'missing'"),
        ('{"prediction": 5, "gold": "5"}', "'prediction' must be text, not 5"),
        ('{"prediction": "5", "gold": null}', "'gold' must be text, not None"),
    ],
)
def test_a_malformed_line_is_named_and_nothing_is_written(line, says, jsonl, tmp_path):
    jsonl.write_text('{"prediction": "5", "gold": "5"}\n' + line + "\n")
    with pytest.raises(DataError, match=says) as error:
        grade_file(jsonl, out=tmp_path / "out.jsonl")
    assert f"{jsonl}:2:" in str(error.value)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_missing_or_binary_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.jsonl"):
        grade_file(tmp_path / "none.jsonl")
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=r"binary\.jsonl"):
        grade_file(tmp_path / "binary.jsonl")
