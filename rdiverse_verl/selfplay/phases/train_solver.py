"""S_t from S_{t-1} on this iteration's questions and the replayed ones, rewarded for the pseudo-label (Eq. 5)."""

from rdiverse_verl.selfplay.phases.remember import TRAIN
from rdiverse_verl.selfplay.training import METRICS, train
from rdiverse_verl.selfplay.training_config import solver_config
from rdiverse_verl.selfplay.work import Outcome, Work

SHOWN = {"rdiverse/accuracy": "matches", "rdiverse/parsed_rate": "parsed"}


def run(work: Work) -> Outcome:
    """The facts compare the first step with the last."""
    differences = solver_config(work, work.earlier(work.iteration, "remember") / TRAIN)
    metrics = train(work, differences, work.settings.solver, SHOWN)
    first, last = metrics[0], metrics[-1]
    return Outcome(
        [METRICS], {"first_match_rate": first["rdiverse/accuracy"], "last_match_rate": last["rdiverse/accuracy"]}
    )
