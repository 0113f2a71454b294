"""What each role is taught to reply, word for word, behind the papers' exact prompts."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from transformers import PreTrainedTokenizerFast

from rdiverse_verl.roles import challenger, coder, solver
from rdiverse_verl.tiny.family import Problem
from rdiverse_verl.tiny.problems import sample_problem, sample_weighted_problem


@dataclass(frozen=True)
class Role:
    """A role's prompt and reply for a problem, and where its problems come from in training."""

    prompt: Callable[[Problem], list[dict[str, str]]]
    reply: Callable[[Problem], str]
    sample: Callable[[Random], Problem]
    share: int
    max_new_tokens: int


# ``share`` is the part of a training batch: the Solver has the most to learn. ``max_new_tokens`` holds every reply.
ROLES = {
    "challenger": Role(
        prompt=lambda _: challenger.messages(),
        reply=lambda p: f"<question>\n{p.question}\n</question>\n\n\\boxed{{{p.answer}}}",
        sample=sample_weighted_problem,
        share=2,
        max_new_tokens=48,
    ),
    "solver": Role(
        prompt=lambda p: solver.messages(p.question),
        reply=lambda p: f"{p.steps}\n\\boxed{{{p.answer}}}",
        sample=sample_problem,
        share=5,
        max_new_tokens=48,
    ),
    "coder": Role(
        prompt=lambda p: coder.messages(p.question),
        reply=lambda p: f"<CODE>\n{p.program}\n</CODE>",
        sample=sample_problem,
        share=1,
        max_new_tokens=96,
    ),
}


def render_prompt(tokenizer: PreTrainedTokenizerFast, role: Role, problem: Problem) -> str:
    """The prompt as the model reads it, up to where its reply begins."""
    return str(tokenizer.apply_chat_template(role.prompt(problem), add_generation_prompt=True, tokenize=False))
