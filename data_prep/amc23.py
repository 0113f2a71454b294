"""AMC 12 of 2023: 40 problems with whole-number answers, which the source stores as decimals."""

from data_prep.golds import as_text
from data_prep.loading import Source
from data_prep.prepare import DataSet, Split, main
from data_prep.problem import Problem, Record, field, text
from data_prep.prompts import MATH_PROMPTS


def read(record: Record) -> Problem:
    """27.0 gives "27"."""
    return Problem(text(record, "question"), as_text(field(record, "answer")), id=str(field(record, "id")))


DATA_SET = DataSet(
    data_source="amc23",
    splits={
        "test": Split(
            Source("zwhe99/amc23", "test", revision="f9810c0439cd3c670ec885d328a2f06a87f3694a"),
            published=40,
            unique=True,
        )
    },
    read=read,
    prompts=MATH_PROMPTS,
    default_prompt="rdiverse",
)


if __name__ == "__main__":
    main(DATA_SET, __doc__)
