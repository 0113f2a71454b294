"""Golds as text: signs, commas, whole decimals, dollars; what is no answer is refused."""

from typing import Any

import pytest

from data_prep.golds import after_hashes, as_text, boxed, whole_number
from data_prep.problem import Refused
from rdiverse_verl.errors import DataError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (34, "34"),
        (34.0, "34"),
        (-3.0, "-3"),
        (0.1, "0.1"),
        (1e-07, "0.0000001"),
        (1e22, "10000000000000000000000"),
        (" 5 cm ", "5 cm"),
        ("$\\frac12$", "\\frac12"),
        ("$1$, $2$", "$1$, $2$"),
        ("\\$5", "\\$5"),
        ("$5", "$5"),
    ],
)
def test_as_text(value: Any, text: str) -> None:
    assert as_text(value) == text


@pytest.mark.parametrize("value", [None, "", float("nan"), float("inf")])
def test_no_answer_is_refused(value: Any) -> None:
    with pytest.raises(Refused, match="no answer"):
        as_text(value)


@pytest.mark.parametrize("value", [True, ["34"], {"a": 1}])
def test_another_type_is_an_error(value: Any) -> None:
    with pytest.raises(DataError, match="not a text or a number"):
        as_text(value)


@pytest.mark.parametrize(
    ("solution", "gold"),
    [
        ("... from 2 to -3\n#### -3", "-3"),
        ("#### -1,234.5", "-1234.5"),
        ("#### +7", "7"),
        ("#### 1\nno\n#### 12", "12"),
        ("#### $1,000", "1000"),
        ("#### .5", ".5"),
    ],
)
def test_after_hashes(solution: str, gold: str) -> None:
    assert after_hashes(solution) == gold


@pytest.mark.parametrize("solution", ["", "12", "####", "#### -", "#### twelve", "#### 1,2", "#### 12 apples"])
def test_no_number_after_hashes_is_refused(solution: str) -> None:
    with pytest.raises(Refused, match="no number after ####"):
        after_hashes(solution)


@pytest.mark.parametrize("solution", ["", "\\boxed{}", "\\boxed{ }", "\\boxed{1", "so 5"])
def test_a_solution_without_answer_is_refused(solution: str) -> None:
    with pytest.raises(Refused, match="no box, or an empty one"):
        boxed(solution)


@pytest.mark.parametrize(
    ("value", "gold"), [("025", "25"), (7, "7"), (70.0, "70"), ("$000$", "0"), ("336^\\circ", "336")]
)
def test_whole_number(value: Any, gold: str) -> None:
    assert whole_number(value, 999) == gold
