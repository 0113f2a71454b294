"""MMLU-Pro (arXiv 2406.01574): 12,032 questions with up to ten options."""

from data_prep.choices import checked_letter, with_options
from data_prep.loading import Source
from data_prep.prepare import DataSet, Split, main
from data_prep.problem import Problem, Record, field, text
from data_prep.prompts import MMLU_PRO


def read(record: Record) -> Problem:
    """Some revisions fill the options up to ten with "N/A"."""
    options = [option for option in field(record, "options") if option != "N/A"]
    letter = checked_letter(text(record, "answer"), [field(record, "answer_index")])
    return Problem(with_options(text(record, "question"), options), letter, id=str(field(record, "question_id")))


DATA_SET = DataSet(
    data_source="mmlu_pro",
    splits={
        "test": Split(
            Source("TIGER-Lab/MMLU-Pro", "test", revision="527feea0afed1de15a8c115abf7be4c912123315"),
            published=12032,
            unique=False,
        )
    },
    read=read,
    prompts={"rdiverse": MMLU_PRO},
    default_prompt="rdiverse",
    ability="knowledge",
)


if __name__ == "__main__":
    main(DATA_SET, __doc__)
