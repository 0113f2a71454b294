"""OlympiadBench (arXiv 2402.14008): the 675 open-ended English maths problems without images."""

from data_prep.golds import as_text
from data_prep.loading import Source
from data_prep.prepare import DataSet, Split, main
from data_prep.problem import Problem, Record, Refused, field, text
from data_prep.prompts import MATH_PROMPTS
from rdiverse_verl.errors import DataError


def read(record: Record) -> Problem:
    """Several entries of ``final_answer`` are alternatives, unless ``is_multiple_answer`` asks for all of them."""
    if (record.get("modality") or "Text-only") != "Text-only":
        raise Refused("needs an image")
    if (record.get("question_type") or "Open-ended") != "Open-ended":
        raise Refused("a proof, without a final answer")
    answers = field(record, "final_answer")
    if not isinstance(answers, list | None):
        raise DataError(f"final_answer is {answers!r}, not a list")
    golds = tuple(as_text(answer) for answer in answers or ())
    if not golds:
        raise Refused("no final answer")
    question = "\n".join(filter(None, (record.get("context"), text(record, "question"))))
    id = str(record.get("id") or "")
    if len(golds) == 1 or record.get("is_multiple_answer"):
        return Problem(question, ", ".join(golds), id)
    return Problem(question, golds[0], id, answers=golds)


DATA_SET = DataSet(
    data_source="olympiadbench",
    splits={"test": Split(Source("zwhe99/simplerl-OlympiadBench", "test"), published=675, unique=False)},
    read=read,
    prompts=MATH_PROMPTS,
    default_prompt="rdiverse",
)


if __name__ == "__main__":
    main(DATA_SET, __doc__)
