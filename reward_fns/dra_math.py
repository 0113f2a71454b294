"""DRA-GRPO's reward before its diversity weights: 1.0 format + 2.0 cosine (Table S2)."""

from typing import Any

from reward_fns import cosine_length
from reward_fns.think_format import think_format

FORMAT_WEIGHT = 1.0
COSINE_WEIGHT = 2.0


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    *,
    preset: str = "paper",
    max_length: int | None = None,
    tokenizer: str | None = None,
    **_: Any,
) -> dict[str, Any]:
    """``score`` with its parts ``format`` and ``cosine``. Settings as for ``cosine_length``."""
    graded = cosine_length.compute_score(
        data_source,
        solution_str,
        ground_truth,
        extra_info,
        preset=preset,
        max_length=max_length,
        tokenizer=tokenizer,
    )
    parts = {"format": think_format(solution_str), "cosine": graded["score"]}
    return graded | parts | {"score": FORMAT_WEIGHT * parts["format"] + COSINE_WEIGHT * parts["cosine"]}
