"""AIME I and II of 2024: 30 problems. Copies that store each problem 32 times give 30 rows too."""

from data_prep.golds import whole_number
from data_prep.loading import Source
from data_prep.prepare import DataSet, Split, main
from data_prep.problem import Problem, Record, field, text
from data_prep.prompts import MATH_PROMPTS


def read(record: Record) -> Problem:
    """Answers are whole numbers from 0 to 999."""
    return Problem(text(record, "problem"), whole_number(field(record, "answer"), 999), id=str(record.get("id", "")))


DATA_SET = DataSet(
    data_source="aime24",
    splits={
        "test": Split(
            Source("HuggingFaceH4/aime_2024", "train", revision="2fe88a2f1091d5048c0f36abc874fb997b3dd99a"),
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
