"""Which part of a response is its answer."""

import time

import pytest

from rdiverse_verl.grading import extract


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"\boxed{5}. Wrong sign; \boxed{7}.", "7"),
        (r"\boxed{3}, \boxed{5}, $\boxed{7}$", "3, 5, 7"),
        (r"$\boxed{3}$ and $\boxed{5}$", "3, 5"),
        (r"\boxed{3} \text{ or } \boxed{5}", "3, 5"),
        (r"\boxed{1}; and thus once more \boxed{1}", "1"),
        (r"\boxed{1}, \boxed{2}. So finally \boxed{3}, \boxed{4}", "3, 4"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{\{1,2\}}", r"\{1,2\}"),
        (r"\boxed{a\}b}", r"a\}b"),
        ("\\boxed{1 +\n 2}", "1 +\n 2"),
        (r"\boxed{\boxed{5}}", "5"),
        (r"\boxed{5} and then \boxed{12", "5"),
        (r"So $\boxed{5}$ and the set is {1,2}.", "5"),
        (r"$\boxed 5$", "5"),
        (r"\boxed  { 5 }", "5"),
        (r"\fbox{5}", "5"),
        (r"{\boxed{5}", "5"),
        (r"\boxed{None}", "None"),
        (r"<think>\boxed{3}</think> \boxed{4}", "4"),
        (r"\boxed{125", None),
        (r"\boxed{}", None),
        (r"\boxed{ }", None),
        (r"\boxed{5} \boxed{}", None),
        (r"\boxed", None),
        (r"\boxedsum{5}", None),
        (r"<think>\boxed{3}</think> done", None),
        (r"<think>\boxed{3}", None),
        ("", None),
        ("42", None),
    ],
)
def test_boxes(text, answer):
    assert extract(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Answer: 42.", "42."),
        ("**Answer:** 42", "42"),
        ("**Final Answer: 42**", "42"),
        ("first the answer is 3\nbut the answer is 4", "4"),
        ("#### 1,234", "1,234"),
        ("The answer is 72, in total", "72"),
        ("Answer: ", None),
        ("42", None),
    ],
)
def test_answer_lines(text, answer):
    assert extract(text, "line") == answer


def test_the_verdict_does_not_depend_on_what_follows_or_how_long_the_box_is():
    for length in range(0, 2001, 50):
        assert extract("\\boxed{34}" + "x " * length) == "34"
        assert extract("#### 42\n" + "x " * length, "line") == "42"
    for length in range(1, 201):
        assert extract("\\boxed{" + "7" * length + "}") == "7" * length


@pytest.mark.parametrize(
    "piece",
    ["\\boxed{", "\\boxed{1}", "\\boxed{1},", "\\boxed ", "{", "}", "answer is ", "#### ", "<think>", "\\boxed{{"],
)
def test_degenerate_text_takes_linear_time(piece):
    for form in ("box", "line", "bare"):
        begun = time.perf_counter()
        extract(piece * 20_000, form)
        assert time.perf_counter() - begun < 1.0
