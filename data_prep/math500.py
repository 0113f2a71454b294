"""MATH-500: 500 problems of the test half of MATH (arXiv 2305.20050)."""

from data_prep.golds import as_text
from data_prep.loading import Source
from data_prep.prepare import DataSet, Split, main
from data_prep.problem import Problem, Record, field, text
from data_prep.prompts import MATH_PROMPTS


def read(record: Record) -> Problem:
    """The gold is the ``answer`` field, LaTeX as written."""
    return Problem(text(record, "problem"), as_text(field(record, "answer")), id=str(field(record, "unique_id")))


DATA_SET = DataSet(
    data_source="HuggingFaceH4/MATH-500",
    splits={
        "test": Split(
            Source("HuggingFaceH4/MATH-500", "test", revision="6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be"),
            published=500,
            unique=False,
        )
    },
    read=read,
    prompts=MATH_PROMPTS,
    default_prompt="rdiverse",
)


if __name__ == "__main__":
    main(DATA_SET, __doc__)
