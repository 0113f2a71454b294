"""BIG-Bench Extra Hard (arXiv 2502.19187): 4,520 questions of 23 tasks with short text answers."""

from data_prep.golds import as_text
from data_prep.loading import Source
from data_prep.prepare import DataSet, Split, main
from data_prep.problem import Problem, Record, field, text
from data_prep.prompts import BBEH


def read(record: Record) -> Problem:
    """The authors say ``input`` and ``target``; the copy that R-Zero evaluates, ``question`` and ``answer``."""
    question, answer = ("question", "answer") if "question" in record else ("input", "target")
    return Problem(text(record, question), as_text(field(record, answer)), id=str(record.get("task") or ""))


DATA_SET = DataSet(
    data_source="bbeh",
    splits={"test": Split(Source("BBEH/bbeh", "train"), published=4520, unique=False)},
    read=read,
    prompts={"rdiverse": BBEH},
    default_prompt="rdiverse",
    ability="reasoning",
)


if __name__ == "__main__":
    main(DATA_SET, __doc__)
