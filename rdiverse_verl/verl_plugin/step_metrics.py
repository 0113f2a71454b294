"""What the step methods report under ``dra/`` and ``extra/``. A figure that is undefined for a batch is left out."""

from collections.abc import Mapping

import numpy as np

from rdiverse_verl.algorithms.groups import Groups, total
from rdiverse_verl.verl_plugin.regeneration import Regeneration
from rdiverse_verl.verl_plugin.scored_rows import ScoredRows

Metrics = dict[str, float]


def row_metrics(rows: ScoredRows, prefix: str) -> Metrics:
    """What could not be used, counted."""
    return {
        f"{prefix}/ungraded": float(rows.ungraded_N.sum()),
        f"{prefix}/missing_vectors": float(sum(bool(fault) for fault in rows.fault_N)),
    }


def encoder_metrics(counts: Mapping[str, float], prefix: str) -> Metrics:
    """Shares of all texts so far, and seconds of encoding so far, most of them while rollout and update run."""
    if not counts:
        return {}
    texts = max(counts["texts"], 1)
    return {
        f"{prefix}/truncation_rate": counts["truncated"] / texts,
        f"{prefix}/encoded_texts": float(counts["texts"]),
        f"{prefix}/encoding_s": counts["seconds"],
    }


def dra_metrics(rows: ScoredRows, weight_N: np.ndarray, negative: str) -> Metrics:
    """Weights of the step. ``weight_spread`` is the mean over groups of std / mean; 0 means DRA changes nothing."""
    groups = rows.groups
    own_N = weight_N[~rows.out_N]
    score_N = rows.score_N[~rows.out_N]
    if not len(own_N):
        return {}
    return {
        "dra/weight_mean": float(own_N.mean()),
        "dra/weight_min": float(own_N.min()),
        "dra/weight_max": float(own_N.max()),
        "dra/weight_spread": float(_spread_B(weight_N, groups).mean()),
        "dra/score_before": float(score_N.mean()),
        "dra/negative_rewards_raised": float((score_N < 0).mean()) if negative == "paper" else 0.0,
    }


def extra_metrics(rows: ScoredRows, novelty_N: np.ndarray, remembered: int) -> Metrics:
    """Novelty, hard groups, and pass rates of guided and of other rows."""
    metrics = {
        "extra/hard_groups": float(rows.hard_B().sum()),
        "extra/answers_remembered": float(remembered),
        "extra/guided_rows": float(rows.guided_N.sum()),
    }
    for name, of_N, values_N in (
        ("novelty", rows.correct_N, novelty_N),
        ("guided_pass_rate", rows.guided_N, rows.correct_N),
        ("scratch_pass_rate", ~rows.guided_N & ~rows.out_N, rows.correct_N),
    ):
        if of_N.any():
            metrics[f"extra/{name}"] = float(values_N[of_N].mean())
    return metrics


def regeneration_metrics(regeneration: Regeneration) -> Metrics:
    """The stores as they are, and what the last scoring of hard prompts could not use."""
    return {
        "extra/queue": float(len(regeneration.queue)),
        "extra/queue_dropped": float(regeneration.queue.dropped),
        "extra/queue_replaced": float(regeneration.queue.replaced),
        "extra/displaced_waiting": float(len(regeneration.deferred)),
        "extra/prefixes_remembered": float(len(regeneration.memory)),
        "extra/hard_without_prefix": float(regeneration.no_prefix),
        "extra/rollouts_without_cut": float(regeneration.extracted.without_cut),
        "extra/rollouts_without_vectors": float(regeneration.extracted.without_vectors),
    }


def _spread_B(weight_N: np.ndarray, groups: Groups) -> np.ndarray:
    weight_G_B = groups.gather(weight_N)
    mean_B = total(weight_G_B) / groups.size_B
    squares_G_B = np.where(groups.present_G_B, (weight_G_B - mean_B) ** 2, 0)
    return np.sqrt(total(squares_G_B) / groups.size_B) / mean_B
