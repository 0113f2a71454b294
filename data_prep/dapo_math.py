"""DAPO-Math-17k (arXiv 2503.14476), the MATH-DAPO of ExTra: published with every prompt about 100 times."""

from data_prep.golds import as_text
from data_prep.loading import Source
from data_prep.prepare import DataSet, Split, main
from data_prep.problem import Problem, Record, field, text
from data_prep.prompts import DAPO, MATH_PROMPTS
from rdiverse_verl.errors import DataError


def read(record: Record) -> Problem:
    """The published rows are in verl's columns; ExTra's cleaned copy has texts ``prompt`` and ``target``."""
    if "target" in record:
        return Problem(text(record, "prompt"), as_text(record["target"]))
    messages, reward, extra = (field(record, name) for name in ("prompt", "reward_model", "extra_info"))
    if not isinstance(messages, list) or len(messages) != 1:
        raise DataError(f"prompt is {messages!r}, not one message")
    question = DAPO.question(text(messages[0], "content"))
    if question is None:
        raise DataError(f"prompt does not begin and end as DAPO's do: {messages[0]['content'][:80]!r}")
    return Problem(question.strip(), as_text(field(reward, "ground_truth")), id=str(field(extra, "index")))


DATA_SET = DataSet(
    data_source="math_dapo",
    splits={
        "train": Split(
            Source("BytedTsinghua-SIA/DAPO-Math-17k", "train", revision="65877096c24ffa7abc4e4fa5edb95cf3413a5674"),
            published=17917,
            unique=True,
        )
    },
    read=read,
    prompts=MATH_PROMPTS,
    default_prompt="extra",
)


if __name__ == "__main__":
    main(DATA_SET, __doc__)
