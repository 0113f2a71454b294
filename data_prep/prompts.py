"""How each paper asks: the words around the question, exactly as published."""

from dataclasses import dataclass

from rdiverse_verl.roles import solver


@dataclass(frozen=True)
class Prompt:
    """System message, what stands before and after the question, and how the answer is given (``answer_form``)."""

    system: str = ""
    before: str = ""
    after: str = ""
    answer_form: str = "box"

    def messages(self, question: str) -> list[dict[str, str]]:
        """The conversation that asks one question."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": f"{self.before}{question}{self.after}"}]

    def question(self, content: str) -> str | None:
        """The question in a user message of this prompt, or None if its words are not there."""
        if not self.before + self.after or not (content.startswith(self.before) and content.endswith(self.after)):
            return None
        return content[len(self.before) : len(content) - len(self.after)]


# R-Diverse, App. A.2.
RDIVERSE = Prompt(system=solver.SYSTEM)

# DRA-GRPO's training recipe; the doubled braces are in the original.
DRA = Prompt(
    system=(
        "A conversation between User and Assistant. The user asks a question, and the Assistant solves it. "
        "The assistant first thinks about the reasoning process in the mind and then provides the user with the "
        "answer, and put your final answer within \\boxed{{}} . The reasoning process and answer are enclosed within "
        "<think> </think> and <answer> </answer> tags, respectively, i.e., <think> reasoning process here </think> "
        "<answer> answer here </answer>. Note that respond by English, NOT use other languages."
    )
)

# ExTra's preparation of MATH-DAPO and MATH-500.
EXTRA = Prompt(
    before="Please solve the following math problem: ",
    after=(
        ". The assistant first thinks about the reasoning process step by step and then provides the user with the "
        "answer. Return the final answer in \\boxed{} tags, for example \\boxed{1}. Let's solve this step by step. "
    ),
)

# DAPO-Math-17k as published.
DAPO = Prompt(
    before=(
        "Solve the following math problem step by step. The last line of your response should be of the form Answer: "
        "$Answer (without quotes) where $Answer is the answer to the problem.\n\n"
    ),
    after='\n\nRemember to put your answer on its own line after "Answer:".',
    answer_form="line",
)

MATH_PROMPTS = {"rdiverse": RDIVERSE, "dra": DRA, "extra": EXTRA, "dapo": DAPO}

# R-Zero's evaluation, which R-Diverse follows: MMLU-Pro, SuperGPQA and BBEH differ by a few words.
_BOX_OPTION = "\n\nPlease reason step by step, and put your final answer option within \\boxed{}."
MMLU_PRO = Prompt(
    after=f"{_BOX_OPTION} Only put the option letter in the box, e.g. \\boxed{{A}}. There is only one correct answer."
)
SUPERGPQA = Prompt(
    after=f"{_BOX_OPTION} Only put the letter in the box, e.g. \\boxed{{A}}. There is only one correct answer."
)
BBEH = Prompt(after=_BOX_OPTION)

ALL = (*MATH_PROMPTS.values(), MMLU_PRO, SUPERGPQA, BBEH)


def question_of(messages: list[dict[str, str]]) -> str:
    """The question alone: the last user message, without the words of a known prompt."""
    content = next(
        (message["content"] for message in reversed(messages) if message["role"] == "user"), messages[-1]["content"]
    )
    return next((question for prompt in ALL if (question := prompt.question(content)) is not None), content)
