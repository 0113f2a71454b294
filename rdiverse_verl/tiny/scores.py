"""How well a model plays the three roles on held-out problems."""

import ast
import re
from collections import Counter
from fractions import Fraction
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from rdiverse_verl.seeds import derive_seed
from rdiverse_verl.tiny.dialogues import ROLES, render_prompt
from rdiverse_verl.tiny.family import Problem
from rdiverse_verl.tiny.problems import heldout_problems

SCORING_SEED = 1
CHALLENGER_REPLY = re.compile(r"<question>\n(?P<question>[^<]+)\n</question>\n\n\\boxed\{(?P<answer>-?\d+(/\d+)?)\}")
CODER_REPLY = re.compile(r"<CODE>\n(?P<program>.+)\n</CODE>", re.DOTALL)
SOLVER_BOX = re.compile(r"\\boxed\{(-?\d+(?:/[1-9]\d*)?)\}$")


@torch.no_grad()
def replies(
    model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, role: str, problems: list[Problem], sample: bool
) -> list[str]:
    """One reply a problem, sampled at temperature 1 or greedy, up to its end mark or the role's limit."""
    prompts = [render_prompt(tokenizer, ROLES[role], problem) for problem in problems]
    inputs = tokenizer(prompts, return_tensors="pt", padding=True, padding_side="left", return_token_type_ids=False)
    torch.manual_seed(derive_seed(SCORING_SEED, role))
    ids_N_T = model.generate(  # type: ignore[misc]  # its self is typed as a protocol that no model class meets
        **inputs, do_sample=sample, temperature=1.0, top_k=0, top_p=1.0, max_new_tokens=ROLES[role].max_new_tokens
    )
    return tokenizer.batch_decode(ids_N_T[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


def boxed_answer(reply: str) -> Fraction | None:
    """The number in the box that ends a Solver's reply."""
    match = SOLVER_BOX.search(reply)
    return Fraction(match[1]) if match else None


def program_shape(program: str) -> str | None:
    """A program without its default values, or None where it is not Python."""
    try:
        tree = ast.parse(program)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.args.defaults = []
    return ast.unparse(tree)


def _share(flags: list[bool]) -> float:
    return round(sum(flags) / len(flags), 4)


def _by_family(problems: list[Problem], flags: list[bool]) -> dict[str, float]:
    families = dict.fromkeys(p.family for p in problems)
    return {name: _share([f for p, f in zip(problems, flags, strict=True) if p.family == name]) for name in families}


def score(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, n: int = 720) -> dict[str, Any]:
    """Shares in [0, 1] on ``n`` held-out problems (a Challenger sample for each), in all and per family."""
    problems = heldout_problems(n, SCORING_SEED)
    solved = [
        boxed_answer(reply) == problem.answer
        for problem, reply in zip(problems, replies(model, tokenizer, "solver", problems, sample=False), strict=True)
    ]
    coded = [CODER_REPLY.fullmatch(reply) for reply in replies(model, tokenizer, "coder", problems, sample=False)]
    programs = [match["program"] if match else "" for match in coded]
    shapes = [program_shape(program) for program in programs]
    right = [shape == program_shape(problem.program) for shape, problem in zip(shapes, problems, strict=True)]
    posed = [CHALLENGER_REPLY.fullmatch(r) for r in replies(model, tokenizer, "challenger", problems, sample=True)]
    return {
        "heldout": n,
        "solver_accuracy": _share(solved),
        "solver_accuracy_by_family": _by_family(problems, solved),
        "coder_parsable": _share(
            [bool(program) and shape is not None for program, shape in zip(programs, shapes, strict=True)]
        ),
        "coder_right_program": _share(right),
        "coder_right_program_by_family": _by_family(problems, right),
        "coder_right_defaults": _share([c == p.program for c, p in zip(programs, problems, strict=True)]),
        "challenger_well_formed": _share([match is not None for match in posed]),
        "challenger_distinct": round(len(Counter(m["question"] for m in posed if m)) / n, 4),
    }


def format_scores(scores: dict[str, Any]) -> str:
    """The scores as a table: one line a role's figure, then one a family."""
    lines = [f"{name:<24}{value}" for name, value in scores.items() if not isinstance(value, dict)]
    lines.append(f"{'family':<14}{'solver':>8}{'coder':>8}")
    for family, solved in scores["solver_accuracy_by_family"].items():
        lines.append(f"{family:<14}{solved:>8.2f}{scores['coder_right_program_by_family'][family]:>8.2f}")
    return "\n".join(lines)
