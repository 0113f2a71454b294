"""docs/grading.md is the policy: each row of its table is graded."""

from pathlib import Path

import pytest

from rdiverse_verl.grading import equivalent, grade

DOCUMENT = Path(__file__).parents[2] / "docs" / "grading.md"


def rows():
    table = DOCUMENT.read_text().split("| topic | rule |")[1]
    for line in table.splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        yield pytest.param(cells[2], *(cell.strip("`") for cell in cells[3:5]), cells[5], id=f"{cells[0]}: {cells[1]}")


@pytest.mark.parametrize(("form", "prediction", "gold", "kind"), list(rows()))
def test_every_row_of_the_policy(form, prediction, gold, kind):
    assert grade(prediction, gold, form).kind == kind


@pytest.mark.parametrize(("form", "prediction", "gold", "kind"), list(rows()))
def test_the_policy_is_symmetric(form, prediction, gold, kind):
    if form == "bare":
        assert equivalent(gold, prediction) == equivalent(prediction, gold) == (kind == "correct")


def test_the_table_is_read_whole():
    assert len(list(rows())) == DOCUMENT.read_text().split("| topic | rule |")[1].count("\n|") - 1 > 90
