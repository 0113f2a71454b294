import pytest

from rdiverse_verl.roles import coder
from rdiverse_verl.roles.malformed import MalformedReply

CODE = "def solver(n1=5, n2=3):\n    res = n1 + n2\n    return res"


def reason(text):
    with pytest.raises(MalformedReply) as caught:
        coder.parse(text)
    return caught.value.reason


@pytest.mark.parametrize(
    "text",
    [
        f"<CODE>\n{CODE}\n</CODE>",
        f"Sure.\n<CODE>{CODE}</CODE> It adds.",
        f"<CODE>\n```python\n{CODE}\n```\n</CODE>",
        f"Here it is:\n```python\n{CODE}\n```\nDone.",
        f"```\n{CODE}\n```",
        CODE,
        f"{coder.INSTRUCTIONS}What is 5 + 3?\nOutput:\n<CODE>\n{CODE}\n</CODE>",
        f"<CODE>\n{CODE}\n</CODE>\n\nUser Input: next\n<CODE>\ndef solver():\n    return 1\n</CODE>",
    ],
)
def test_every_accepted_form_gives_the_program(text):
    assert coder.parse(text) == CODE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty reply"),
        (" \n", "empty reply"),
        (f"<CODE>\n{CODE}", "unterminated code block"),
        ("<CODE></CODE>", "no single solver"),
        ("I cannot write this.", "no single solver"),
        (f"The function is: {CODE}", "no single solver"),
        ("<CODE>def solve(n1=1):\n    return n1</CODE>", "no single solver"),
        (f"<CODE>{CODE}\n{CODE}</CODE>", "no single solver"),
        ("<CODE>def solver(:</CODE>", "no single solver"),
        (f"{coder.INSTRUCTIONS}What is 5 + 3?", "prompt echoed"),
        (coder.INSTRUCTIONS[:2000], "prompt echoed"),
    ],
)
def test_other_replies_say_why(text, expected):
    assert reason(text) == expected


def test_the_prompts_examples_are_never_taken_for_an_answer():
    prompt = coder.messages("How many?")[0]["content"]
    assert reason(prompt) == "prompt echoed"
