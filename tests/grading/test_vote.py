"""Votes by meaning: values worked by hand, and independence of order."""

import itertools
import random

import pytest

from rdiverse_verl.grading import Vote, equivalent, matching, vote

LOG = [r"f(x) = x", r"\frac{1}{2}x^2 + x", "x", "f(x) = 2x", "-x^2 + x", r"f(x) = \frac{x^2}{2} + x", "",
       r"f(x) = \frac{x^2}{2}", "None", "33"]  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "label", "share"),
    [
        (["1 1/2", "11/2", "1.5", "3/2", "5.5"], "1 1/2", 0.6),
        ([r"\frac{1+\sqrt{5}}{2}"] * 4 + [r"1+\frac{\sqrt{5}}{2}"] * 4 + [r"\frac{\sqrt{5}+1}{2}"] * 2,
         r"\frac{1+\sqrt{5}}{2}", 0.6),
        ([None] * 5 + ["3", "7", "12", "18", "40"], "3", 0.1),
        ([None] * 6 + ["3"] * 4, "3", 0.4),
        ([r"\text{None}", "none", None], r"\text{None}", 2 / 3),
        (["no more than 3", "no fewer than 7", "no solution", "There is no such n"], "no solution", 0.5),
        (LOG, "f(x) = x", 0.2),
        ([None] * 10, None, 0.0),
        ([" ", "", None], None, 0.0),
        ([], None, 0.0),
        (["4", "2"], "4", 0.5),
        ([r"9^{9^{9}}", "1", r"9^{9^9}"], r"9^{9^{9}}", 2 / 3),
    ],
)  # fmt: skip
def test_by_hand(answers, label, share):
    result = vote(answers)
    assert (result.label, result.share) == (label, pytest.approx(share))


def test_an_order_of_samples_never_changes_the_classes():
    shuffled = random.Random(0)
    answers = ["5", "5 cm", "5 km", "5.0", "x=5", "y=5", "1,2", "2,1", "(1,2)", "(2,1)", "28", r"28\%", "0.28", None,
               r"\sin^2 x", r"1-\cos^2 x", "A", "(A) 7", "7"]  # fmt: skip

    def as_sets(result, order):
        return {frozenset(order[place] for place in group) for group in result.classes}

    order = list(range(len(answers)))
    expected = as_sets(vote(answers), order)
    for _ in range(100):
        shuffled.shuffle(order)
        assert as_sets(vote([answers[place] for place in order]), order) == expected


def test_a_bare_answer_joins_a_labelled_one_unless_the_labels_contradict_each_other():
    assert vote(["5", "5 cm", "5.0"]) == Vote("5", 1.0, ((0, 1, 2),))
    assert vote(["5", "5 cm", "5 km"]).classes == ((0,), (1,), (2,))
    assert vote(["5", "5 cm", "5 km", "5.0"]).classes == ((0, 3), (1,), (2,))


def test_classes_are_transitive():
    answers = [r"2\sqrt3", r"\sqrt{12}", r"\frac{6}{\sqrt3}", "3", "6/2", r"\sqrt[3]{27}", "4", r"2^{2}"]
    groups = [[answers[place] for place in group] for group in vote(answers).classes]
    assert sorted(map(len, groups)) == [2, 3, 3]
    assert all(equivalent(a, b) for group in groups for a, b in itertools.combinations(group, 2))


def test_each_pair_of_distinct_forms_is_compared_at_most_once(monkeypatch):
    compared = []
    original = matching.match_fully
    monkeypatch.setattr(
        "rdiverse_verl.grading.voting.match_fully", lambda a, b: compared.append((a, b)) or original(a, b)
    )
    vote(["1", "2", "1", "3", "2/2", "1", None, "3.0", "2", "1"])
    assert len(compared) == len({frozenset(pair) for pair in compared}) == 5 * 4 // 2
