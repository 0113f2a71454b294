"""Training problems as a parquet file: ``python -m rdiverse_verl.tiny.training_set FILE [ROWS]``."""

import sys
from pathlib import Path
from random import Random

from rdiverse_verl.dataset import Row, make_row, write_rows
from rdiverse_verl.roles import solver
from rdiverse_verl.seeds import derive_seed
from rdiverse_verl.tiny.problems import Problem, sample_problem

ROWS = 512
SEED = 1


def training_rows(count: int = ROWS) -> list[Row]:
    """Distinct problems, none of them held out, as the Solver is asked them; ``id`` is the skill family."""
    rng = Random(derive_seed(SEED, "training set"))
    distinct: dict[str, Problem] = {}
    while len(distinct) < count:
        problem = sample_problem(rng)
        distinct[problem.question] = problem
    return [
        make_row(
            data_source="rdiverse/tiny",
            prompt=solver.messages(problem.question),
            ground_truth=str(problem.answer),
            index=index,
            split="train",
            id=problem.family,
        )
        for index, problem in enumerate(distinct.values())
    ]


if __name__ == "__main__":
    write_rows(Path(sys.argv[1]), training_rows(*map(int, sys.argv[2:3])))
