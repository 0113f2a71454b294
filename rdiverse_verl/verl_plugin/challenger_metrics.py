"""What a Challenger step reports under ``rdiverse/``. A figure that is undefined for a batch is left out, never 0."""

from collections import Counter

import numpy as np

from rdiverse_verl.verl_plugin.challenger_batch import ScoredBatch
from rdiverse_verl.verl_plugin.settings import Challenger


def challenger_metrics(batch: ScoredBatch, settings: Challenger) -> dict[str, float]:
    """Shares are of all rows for invalid outputs, of valid rows for SAM failures, of measured rows for the rest."""
    valid, measured = int(batch.valid_N.sum()), int(batch.measured_N.sum())
    metrics = {
        "rdiverse/reward": float(batch.reward_N.mean()),
        "rdiverse/valid_rate": float(batch.valid_N.mean()),
        "rdiverse/memory_size": float(max(row.memory_size for row in batch.rows)),
        "rdiverse/distinct_questions": float(len({row.question for row in batch.rows if row.valid})),
    }
    reasons = Counter(row.invalid for row in batch.rows if not row.valid)
    for reason, count in sorted(reasons.items()):
        metrics[f"rdiverse/invalid/{reason.replace(' ', '_')}"] = count / len(batch.rows)
    if valid:
        metrics["rdiverse/p_hat"] = float(np.mean([row.p_hat for row in batch.rows if row.valid]))
        metrics["rdiverse/r_unc"] = float(batch.r_unc_N[batch.valid_N].mean())
        metrics["rdiverse/unlabelled_rate"] = sum(row.valid and not row.label for row in batch.rows) / valid
        metrics["rdiverse/sam_failure_rate"] = 1 - measured / valid
    if measured:
        metrics["rdiverse/clusters"] = float(batch.cluster_N.max() + 1)
        for name in ("p_rep", "p_map", "p_max", "p_mean"):
            metrics[f"rdiverse/{name}"] = float(getattr(batch, f"{name}_N")[batch.measured_N].mean())
        shares = batch.saturation(settings)
        metrics["rdiverse/largest_cluster_share"] = shares.largest_cluster
        metrics["rdiverse/above_tau_max"] = shares.p_max_above
        metrics["rdiverse/above_tau_mean"] = shares.p_mean_above
    return metrics
