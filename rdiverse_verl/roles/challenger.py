"""The Challenger writes one question and its answer (R-Diverse, App. A.2; the prompt is R-Zero's)."""

SYSTEM = """\
You are an expert competition-math problem setter.
FIRST, in your private scratch-pad, think step-by-step to design a brand-new, non-trivial problem. The problem could come \
from any field of mathematics, including but not limited to algebra, geometry, number theory, combinatorics, prealgebra, \
probability, statistics, and calculus. Aim for a difficulty such that fewer than 30% of advanced high-school students \
could solve it. Avoid re-using textbook clichés or famous contest problems.
THEN, without revealing any of your private thoughts, output **exactly** the following two blocks:

<question>
{The full problem statement on one or more lines}
</question>

\\boxed{final_answer}

Do NOT output anything else—no explanations, no extra markup."""

USER = "Generate one new, challenging reasoning question now. Remember to format the output exactly as instructed."


def messages() -> list[dict[str, str]]:
    """The one constant prompt of every Challenger sample."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]
