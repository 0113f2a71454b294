"""Problems as rows of a data set."""

from collections.abc import Iterable

from rdiverse_verl.dataset import Row, make_row
from rdiverse_verl.roles import solver
from rdiverse_verl.tiny.problems import Problem


def problem_rows(problems: Iterable[Problem], split: str) -> list[Row]:
    """Each problem as the Solver is asked it; ``id`` is the skill family."""
    return [
        make_row(
            data_source="rdiverse/tiny",
            prompt=solver.messages(problem.question),
            ground_truth=str(problem.answer),
            index=index,
            split=split,
            id=problem.family,
        )
        for index, problem in enumerate(problems)
    ]
