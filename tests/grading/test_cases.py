"""Tables of pairs: real inputs that graders got wrong, and one value in many written forms."""

import csv
import itertools
from pathlib import Path

import pytest

from rdiverse_verl.grading import equivalent, grade

HERE = Path(__file__).parent


def table(name):
    with (HERE / name).open(encoding="utf-8") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]


FORMS = {name: forms for name, *forms in table("forms.tsv")}


@pytest.mark.parametrize(("source", "form", "prediction", "gold", "kind"), table("field_cases.tsv"))
def test_inputs_from_the_field(source, form, prediction, gold, kind):
    with_line_breaks = prediction.replace("<br>", "\n")
    assert grade(with_line_breaks, gold, form).kind == kind


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_a_value_equals_every_other(name):
    unequal = [pair for pair in itertools.product(FORMS[name], repeat=2) if not equivalent(*pair)]
    assert unequal == []


def test_no_form_equals_a_form_of_another_value():
    equal = [
        (a, b)
        for one, other in itertools.permutations(FORMS, 2)
        for a, b in itertools.product(FORMS[one], FORMS[other])
        if equivalent(a, b)
    ]
    assert equal == []


def test_there_are_enough_cases():
    pairs = sum(len(forms) * (len(forms) + 1) // 2 for forms in FORMS.values())
    assert len(table("field_cases.tsv")) >= 190
    assert pairs >= 1000


@pytest.mark.parametrize("shape", ["{}", "**{}**", "${}$", "{}.", " {} ", "$$ {} $$", "\\({}\\)", "**{}**.", "${}$."])
def test_wrapping_never_changes_a_verdict(shape):
    for source, form, prediction, gold, kind in table("field_cases.tsv"):
        if form == "bare" and kind in ("correct", "wrong") and "$" not in prediction:
            wrapped = shape.replace("{}", prediction)
            assert grade(wrapped, gold, "bare").kind == kind, (source, wrapped, gold)
