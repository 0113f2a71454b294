"""The files a recipe names, ``heldout.parquet`` and ``calibration.jsonl``.

``python -m rdiverse_verl.tiny.files`` writes them anew.
"""

import json
from pathlib import Path

from rdiverse_verl.dataset import Row, write_rows
from rdiverse_verl.tiny.calibration import calibration_programs
from rdiverse_verl.tiny.problems import heldout_problems
from rdiverse_verl.tiny.rows import problem_rows

HELDOUT_ROWS = 200
HELDOUT_SEED = 1
DRAWN = 300  # some are drawn twice


def heldout_rows() -> list[Row]:
    """Distinct held-out problems."""
    distinct = {problem.question: problem for problem in heldout_problems(DRAWN, HELDOUT_SEED)}
    return problem_rows(list(distinct.values())[:HELDOUT_ROWS], "test")


def calibration_lines() -> str:
    return "".join(json.dumps({"program": program}) + "\n" for program in calibration_programs())


def write_files(folder: Path) -> None:
    write_rows(folder / "heldout.parquet", heldout_rows())
    (folder / "calibration.jsonl").write_text(calibration_lines(), encoding="utf-8")


if __name__ == "__main__":
    write_files(Path(__file__).parent)
