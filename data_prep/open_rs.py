"""open-rs: the 7,000 problems of Open-RS (arXiv 2503.16219) on which DRA-GRPO trains."""

from data_prep.golds import as_text, boxed
from data_prep.loading import Source
from data_prep.prepare import DataSet, Split, main
from data_prep.problem import Problem, Record, text
from data_prep.prompts import MATH_PROMPTS


def read(record: Record) -> Problem:
    """The gold is ``answer``; where that is empty, the box of ``solution``."""
    answer = record.get("answer")
    gold = as_text(answer) if answer not in (None, "") else boxed(text(record, "solution"))
    return Problem(text(record, "problem"), gold)


DATA_SET = DataSet(
    data_source="knoveleng/open-rs",
    splits={"train": Split(Source("knoveleng/open-rs", "train"), published=7000, unique=True)},
    read=read,
    prompts=MATH_PROMPTS,
    default_prompt="dra",
)


if __name__ == "__main__":
    main(DATA_SET, __doc__)
