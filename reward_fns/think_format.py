r"""Is the reasoning closed once by ``</think>`` (DRA-GRPO, App. A)? The opening tag belongs to the prompt."""

from typing import Any

from reward_fns.judging import judge, outcome


def think_format(text: str) -> float:
    r"""1 if ``\n</think>\n`` occurs exactly once, else 0.

    One addition to the paper: a ``<think>`` opened inside the response is no format, since the template's own makes it
    nested. At the very start it is right, for templates that do not open one.
    """
    reopened = "<think>" in text.lstrip().removeprefix("<think>")
    return float(text.count("\n</think>\n") == 1 and not reopened)


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any] | None = None, **_: Any
) -> dict[str, Any]:
    """``score`` is the format reward alone; the answer is graded for the metrics only."""
    verdict = judge(solution_str, ground_truth, extra_info)
    return {"score": think_format(solution_str)} | outcome(verdict)
