"""AIME I and II of 2025: 30 problems; one published answer carries a degree sign."""

from data_prep.golds import whole_number
from data_prep.loading import Source
from data_prep.prepare import DataSet, Split, main
from data_prep.problem import Problem, Record, field, text
from data_prep.prompts import MATH_PROMPTS


def read(record: Record) -> Problem:
    """Answers are whole numbers from 0 to 999."""
    return Problem(text(record, "problem"), whole_number(field(record, "answer"), 999), id=str(record.get("id", "")))


DATA_SET = DataSet(
    data_source="aime25",
    splits={
        "test": Split(
            Source("yentinglin/aime_2025", "train", revision="6f71d77b0b89b9dabe07ab466c51df33f514df7f"),
            published=30,
            unique=True,
        )
    },
    read=read,
    prompts=MATH_PROMPTS,
    default_prompt="rdiverse",
)


if __name__ == "__main__":
    main(DATA_SET, __doc__)
