"""C_t from C_{t-1}, rewarded by the frozen S_{t-1}, the Coder and the memory of all earlier iterations (Eq. 11)."""

from typing import Any

from rdiverse_verl.selfplay.phases.prepare import PROMPTS
from rdiverse_verl.selfplay.serving import coder_endpoint
from rdiverse_verl.selfplay.training import METRICS, train
from rdiverse_verl.selfplay.training_config import challenger_config
from rdiverse_verl.selfplay.work import Outcome, Work

SHOWN = {"rdiverse/reward": "reward", "rdiverse/valid_rate": "valid", "rdiverse/p_hat": "p̂", "rdiverse/p_map": "P_MAP"}
FACTS = ("valid_rate", "clusters", "p_rep", "p_map", "reward", "largest_cluster_share", "sam_failure_rate")


def run(work: Work) -> Outcome:
    """The facts are the mean over the phase's steps."""
    training = work.settings.challenger
    with coder_endpoint(work) as coder:
        differences = challenger_config(work, work.earlier(0, "prepare") / PROMPTS, coder)
        metrics = train(work, differences, training, SHOWN)
    return Outcome([METRICS], {name: _mean(metrics, f"rdiverse/{name}") for name in FACTS})


def _mean(metrics: list[dict[str, Any]], key: str) -> float | None:
    values = [step[key] for step in metrics if key in step]
    return sum(values) / len(values) if values else None
