"""SuperGPQA (arXiv 2502.14739): 26,529 questions of 285 graduate disciplines."""

from data_prep.choices import checked_letter, with_options
from data_prep.loading import Source
from data_prep.prepare import DataSet, Split, main
from data_prep.problem import Problem, Record, field, text
from data_prep.prompts import SUPERGPQA


def read(record: Record) -> Problem:
    """``answer`` repeats the text of the option that ``answer_letter`` names."""
    options, answer = field(record, "options"), field(record, "answer")
    right = [number for number, option in enumerate(options) if option == answer]
    gold = checked_letter(text(record, "answer_letter"), right)
    return Problem(with_options(text(record, "question"), options), gold, id=str(field(record, "uuid")))


DATA_SET = DataSet(
    data_source="supergpqa",
    splits={
        "test": Split(
            Source("m-a-p/SuperGPQA", "train", revision="4430d4458112c7d4497fdcf94d7cc223313d6acf"),
            published=26529,
            unique=False,
        )
    },
    read=read,
    prompts={"rdiverse": SUPERGPQA},
    default_prompt="rdiverse",
    ability="knowledge",
)


if __name__ == "__main__":
    main(DATA_SET, __doc__)
