"""The Challenger writes one question and its answer (R-Diverse, App. A.2; the prompt is R-Zero's)."""

from dataclasses import dataclass

from rdiverse_verl.roles.boxed import last_boxed
from rdiverse_verl.roles.malformed import MalformedReply

SYSTEM = """\
You are an expert competition-math problem setter.
FIRST, in your private scratch-pad, think step-by-step to design a brand-new, non-trivial problem. The problem could \
come from any field of mathematics, including but not limited to algebra, geometry, number theory, combinatorics, \
prealgebra, probability, statistics, and calculus. Aim for a difficulty such that fewer than 30% of advanced \
high-school students could solve it. Avoid re-using textbook clichés or famous contest problems.
THEN, without revealing any of your private thoughts, output **exactly** the following two blocks:

<question>
{The full problem statement on one or more lines}
</question>

\\boxed{final_answer}

Do NOT output anything else—no explanations, no extra markup."""

USER = "Generate one new, challenging reasoning question now. Remember to format the output exactly as instructed."


_QUESTION_PLACEHOLDER = "{The full problem statement on one or more lines}"
_ANSWER_PLACEHOLDER = "final_answer"


def messages() -> list[dict[str, str]]:
    """The one constant prompt of every Challenger sample."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]


@dataclass(frozen=True)
class Proposal:
    """One question and the Challenger's own answer to it."""

    question: str
    answer: str


def parse(text: str) -> Proposal:
    r"""Read one sample: the last ``<question>`` block and the last complete ``\boxed{}`` after it.

    Raises MalformedReply with the reason: no question block, empty question, template echoed, no box, unterminated
    box, empty box.
    """
    before, closing, after = text.rpartition("</question>")
    _, opening, question = before.rpartition("<question>")
    if not closing or not opening:
        raise MalformedReply("no question block")
    question, answer = question.strip(), last_boxed(after)
    if not question:
        raise MalformedReply("empty question")
    if answer is None:
        raise MalformedReply("unterminated box" if "\\boxed" in after else "no box")
    answer = answer.strip()
    if not answer:
        raise MalformedReply("empty box")
    if _QUESTION_PLACEHOLDER in question or answer == _ANSWER_PLACEHOLDER:
        raise MalformedReply("template echoed")
    return Proposal(question, answer)
