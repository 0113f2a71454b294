"""The training half of MATH (arXiv 2103.03874), from a mirror with the original splits."""

from data_prep.golds import boxed
from data_prep.loading import Source
from data_prep.prepare import DataSet, Split, main
from data_prep.problem import Problem, Record, text
from data_prep.prompts import MATH_PROMPTS

SUBJECTS = (
    "algebra",
    "counting_and_probability",
    "geometry",
    "intermediate_algebra",
    "number_theory",
    "prealgebra",
    "precalculus",
)


def read(record: Record) -> Problem:
    """The gold is the boxed answer of the solution; two training solutions have an empty box."""
    return Problem(text(record, "problem"), boxed(text(record, "solution")))


DATA_SET = DataSet(
    data_source="DigitalLearningGmbH/MATH-lighteval",
    splits={
        "train": Split(
            Source("EleutherAI/hendrycks_math", "train", SUBJECTS, "21a5633873b6a120296cce3e2df9d5550074f4a3"),
            published=7500,
            unique=True,
        )
    },
    read=read,
    prompts=MATH_PROMPTS,
    default_prompt="rdiverse",
)


if __name__ == "__main__":
    main(DATA_SET, __doc__)
