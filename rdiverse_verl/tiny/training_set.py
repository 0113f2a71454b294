"""Training problems as a parquet file: ``python -m rdiverse_verl.tiny.training_set FILE [ROWS]``."""

import sys
from pathlib import Path
from random import Random

from rdiverse_verl.dataset import Row, write_rows
from rdiverse_verl.seeds import derive_seed
from rdiverse_verl.tiny.problems import Problem, sample_problem
from rdiverse_verl.tiny.rows import problem_rows

ROWS = 512
SEED = 1


def training_rows(count: int = ROWS) -> list[Row]:
    """Distinct problems, none of them held out."""
    rng = Random(derive_seed(SEED, "training set"))
    distinct: dict[str, Problem] = {}
    while len(distinct) < count:
        problem = sample_problem(rng)
        distinct[problem.question] = problem
    return problem_rows(distinct.values(), "train")


if __name__ == "__main__":
    write_rows(Path(sys.argv[1]), training_rows(*map(int, sys.argv[2:3])))
