"""GSM8K: grade-school word problems, for training and as a benchmark (arXiv 2110.14168)."""

from data_prep.golds import after_hashes
from data_prep.loading import Source
from data_prep.prepare import DataSet, Split, main
from data_prep.problem import Problem, Record, text
from data_prep.prompts import MATH_PROMPTS


def read(record: Record) -> Problem:
    """The gold is what follows the last ``####`` of the worked answer."""
    return Problem(text(record, "question"), after_hashes(text(record, "answer")))


def _split(name: str, published: int, unique: bool) -> Split:
    revision = "cc7b047b6e5bb11b4f1af84efc572db110a51b3c"
    return Split(Source("openai/gsm8k", name, ("main",), revision), published, unique)


DATA_SET = DataSet(
    data_source="openai/gsm8k",
    splits={"train": _split("train", 7473, unique=True), "test": _split("test", 1319, unique=False)},
    read=read,
    prompts=MATH_PROMPTS,
    default_prompt="rdiverse",
)


if __name__ == "__main__":
    main(DATA_SET, __doc__)
