"""Signs that the thresholds do not fit the encoder's scale, so that a penalty has become a constant.

A penalty that is the same for every sample of a batch disappears in group normalisation, and nothing is learnt from it.
"""

from dataclasses import dataclass

import numpy as np

_TOO_MUCH = 0.8


@dataclass(frozen=True)
class Saturation:
    """Shares among the measured rows of a batch, each in [0, 1]; 0 when none was measured."""

    largest_cluster: float
    p_max_above: float
    p_mean_above: float

    def warnings(self) -> list[str]:
        """One line for each share above 0.8."""
        remedy = "or centre the skill space"
        found = [
            (self.largest_cluster, f"of the batch is one skill cluster: lower the distance threshold, {remedy}"),
            (self.p_max_above, f"of the batch has P_max above tau_max: raise tau_max, {remedy}"),
            (self.p_mean_above, f"of the batch has P_mean above tau_mean: raise tau_mean, {remedy}"),
        ]
        return [f"{share:.0%} {text}" for share, text in found if share > _TOO_MUCH]


def saturation(
    labels_N: np.ndarray, p_max_N: np.ndarray, p_mean_N: np.ndarray, tau_max: float, tau_mean: float
) -> Saturation:
    """Measure a batch. `labels_N` are cluster labels, -1 where a row was not measured (`repetition_penalty`)."""
    labels_N = np.asarray(labels_N)
    measured_N = labels_N >= 0
    if not measured_N.any():
        return Saturation(0.0, 0.0, 0.0)
    return Saturation(
        largest_cluster=float(np.bincount(labels_N[measured_N]).max() / measured_N.sum()),
        p_max_above=float((np.asarray(p_max_N)[measured_N] > tau_max).mean()),
        p_mean_above=float((np.asarray(p_mean_N)[measured_N] > tau_mean).mean()),
    )
