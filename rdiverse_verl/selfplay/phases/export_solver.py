"""The trained Solver as a Hugging Face folder."""

from rdiverse_verl.selfplay.phases.export import export
from rdiverse_verl.selfplay.work import Outcome, Work


def run(work: Work) -> Outcome:
    return export(work, "train_solver")
