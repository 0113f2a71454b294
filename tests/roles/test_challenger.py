import time

import pytest

from rdiverse_verl.roles import challenger
from rdiverse_verl.roles.boxed import last_boxed
from rdiverse_verl.roles.malformed import MalformedReply


def reason(text):
    with pytest.raises(MalformedReply) as caught:
        challenger.parse(text)
    return caught.value.reason


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("<question>\nWhat is 2+2?\n</question>\n\n\\boxed{4}", "What is 2+2?", "4"),
        ("<question>Half?</question>\n\\boxed{\\frac{1}{2}}", "Half?", "\\frac{1}{2}"),
        ("<question>A</question> \\boxed{1} no: <question>B</question> \\boxed{2}", "B", "2"),
        ("I wrap it in <question>, so: <question>B</question>\\boxed{2}", "B", "2"),
        ("<question>A box \\boxed{9}?</question> \\boxed{3} \\boxed{4} and \\boxed{5", "A box \\boxed{9}?", "4"),
        ("<question>Two\nlines</question>\\boxed{\\{1,\n2\\}}", "Two\nlines", "\\{1,\n2\\}"),
        ("<question>Final?</question>\\boxed{final answers}", "Final?", "final answers"),
    ],
)
def test_well_formed_samples(text, question, answer):
    assert challenger.parse(text) == challenger.Proposal(question, answer)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no question block"),
        ("What is 2+2? \\boxed{4}", "no question block"),
        ("<question>What is 2+2? \\boxed{4}", "no question block"),
        ("What is 2+2?</question> \\boxed{4}", "no question block"),
        ("<question> \n </question>\\boxed{4}", "empty question"),
        ("<question>What is 2+2?</question>", "no box"),
        ("\\boxed{4} <question>What is 2+2?</question> None", "no box"),
        ("<question>What?</question>\n\\boxed{125", "unterminated box"),
        ("<question>What?</question>\n\\boxed{\\frac{1}{2}", "unterminated box"),
        ("<question>What?</question>\n\\boxed{}", "empty box"),
        ("<question>What?</question>\n\\boxed{3} \\boxed{ }", "empty box"),
        ("<question>What?</question>\n\\boxed{final_answer}", "template echoed"),
    ],
)
def test_malformed_samples_say_why(text, expected):
    assert reason(text) == expected


def test_the_prompt_itself_is_no_question():
    assert reason(challenger.SYSTEM) == "template echoed"


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("no box", None),
        ("\\boxed{1", None),
        ("\\boxed 1", None),
        ("\\boxed {1}", "1"),
        ("\\boxed{\\boxed{5}}", "5"),
        ("\\boxed{1} } { \\boxed{2}", "2"),
        ("\\boxed{1} \\boxed{2", "1"),
        ("\\boxed{\\left\\{1,2\\right.}", "\\left\\{1,2\\right."),
        ("\\boxed{a\\\\}", "a\\\\"),
        ("$\\boxed{5}$ and the set is {1,2}.", "5"),
    ],
)
def test_last_boxed(text, content):
    assert last_boxed(text) == content


@pytest.mark.parametrize("piece", ["\\boxed{", "{", "}", "\\", "\\boxed ", "\\boxed{}", "<question>"])
def test_long_hostile_text_is_read_in_linear_time(piece):
    text = f"<question>Q</question>{piece * 200_000}"
    start = time.process_time()
    with pytest.raises(MalformedReply):
        challenger.parse(text)
    assert time.process_time() - start < 3
