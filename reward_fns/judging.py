"""Judge one response against the gold answers of its row."""

from collections.abc import Mapping
from typing import Any

from rdiverse_verl.grading import Verdict, grade
from rdiverse_verl.grading.extraction import Form


def judge(solution_str: str, ground_truth: str, extra_info: Mapping[str, Any] | None) -> Verdict:
    """The verdict on a response, by what its row says of the answer.

    ``extra_info.answer_form`` is "box" (the default) or "line"; where ``extra_info.answer_mode`` is "any", one right
    verdict over ``extra_info.answers`` is enough. Raises TypeError for what is no text, such as a numeric gold.
    """
    extra_info = extra_info or {}
    form: Form = extra_info.get("answer_form") or "box"
    golds = list(extra_info["answers"]) if extra_info.get("answer_mode") == "any" else [ground_truth]
    verdicts = []
    for gold in golds:
        verdicts.append(grade(solution_str, gold, form))
        if verdicts[-1].correct:
            break
    return verdicts[-1] if verdicts[-1].correct else verdicts[0]


def outcome(verdict: Verdict) -> dict[str, Any]:
    """What every reward reports of a verdict: accuracy, whether there was an answer, what could not be graded.

    ``pred`` is the key that verl's validation votes on.
    """
    return {
        "acc": float(verdict.correct),
        "parsed": float(verdict.answer is not None),
        "grading_unparsable": float(verdict.kind == "unparsable"),
        "grading_timeout": float(verdict.kind == "timeout"),
        "grading_error": float(verdict.kind == "error"),
        "pred": verdict.answer or "",
    }
