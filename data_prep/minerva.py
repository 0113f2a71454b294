"""Minerva Math: 272 questions of MIT courses (arXiv 2206.14858), many with units."""

from data_prep.golds import as_text, boxed
from data_prep.loading import Source
from data_prep.prepare import DataSet, Split, main
from data_prep.problem import Problem, Record, text
from data_prep.prompts import MATH_PROMPTS


def read(record: Record) -> Problem:
    """The gold is ``answer``, units as written; where there is no such field, the box of ``solution``."""
    gold = as_text(record["answer"]) if "answer" in record else boxed(text(record, "solution"))
    return Problem(text(record, "problem"), gold)


DATA_SET = DataSet(
    data_source="minerva",
    splits={"test": Split(Source("zwhe99/simplerl-minerva-math", "test"), published=272, unique=False)},
    read=read,
    prompts=MATH_PROMPTS,
    default_prompt="rdiverse",
)


if __name__ == "__main__":
    main(DATA_SET, __doc__)
