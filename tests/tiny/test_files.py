"""The shipped files are what the tiny world says today."""

from rdiverse_verl import tiny
from rdiverse_verl.dataset import read_rows
from rdiverse_verl.tiny import files


def test_heldout_file_is_up_to_date() -> None:
    rows = read_rows(tiny.base_model_path().parent / "heldout.parquet")
    assert rows == files.heldout_rows()
    assert len({row["prompt"][1]["content"] for row in rows}) == len(rows)


def test_calibration_file_is_up_to_date() -> None:
    shipped = (tiny.base_model_path().parent / "calibration.jsonl").read_text(encoding="utf-8")
    assert shipped == files.calibration_lines()
