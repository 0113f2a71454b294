"""S_{t-1} labels the questions by vote; those in the band of p-hat are kept for the Solver (Eq. 2 and 4)."""

from rdiverse_verl.errors import StateError
from rdiverse_verl.grading import extract, vote
from rdiverse_verl.roles import solver
from rdiverse_verl.selfplay.client import Request, ask
from rdiverse_verl.selfplay.phases import generate
from rdiverse_verl.selfplay.records import Record, read_records, write_records
from rdiverse_verl.selfplay.serving import served
from rdiverse_verl.selfplay.settings import Label
from rdiverse_verl.selfplay.work import Outcome, Work

OUTPUT = "labels.jsonl"


def run(work: Work) -> Outcome:
    """One record per valid question: the majority answer, its share p-hat, and whether it is kept."""
    settings = work.settings.label
    sampling = settings.model_dump(exclude={"samples", "lowest", "highest"})
    questions = [
        record
        for record in read_records(work.earlier(work.iteration, "generate") / generate.OUTPUT)
        if not record["invalid"]
    ]
    requests = [
        Request(solver.messages(record["question"]), work.seed(record["row"]), settings.samples) for record in questions
    ]
    with served(
        work.solver(work.iteration - 1), work.settings.serving, work.seed("server"), work.log / "server.log"
    ) as endpoint:
        replies = ask(endpoint, requests, sampling, work.settings.service, work.progress("labelled question"))
    records = [_record(question, texts, settings) for question, texts in zip(questions, replies, strict=True)]
    write_records(work.folder / OUTPUT, records)
    kept = sum(record["kept"] for record in records)
    _enough(kept, work)
    return Outcome(
        [OUTPUT],
        {
            "labelled": len(records),
            "unlabelled": sum(record["label"] is None for record in records),
            "mean_p_hat": sum(record["p_hat"] for record in records) / len(records),
            "kept": kept,
        },
    )


def _record(question: Record, texts: list[str], settings: Label) -> Record:
    answers = [extract(text) for text in texts]
    result = vote(answers)
    in_band = settings.lowest <= result.share <= settings.highest
    return {
        "row": question["row"],
        "question": question["question"],
        "answers": answers,
        "label": result.label,
        "p_hat": result.share,
        "kept": result.label is not None and in_band,
    }


def _enough(kept: int, work: Work) -> None:
    needed = work.settings.solver.prompts_per_step
    if kept < needed:
        raise StateError(
            f"iteration {work.iteration}: only {kept} questions have p-hat in [{work.settings.label.lowest:g}, "
            f"{work.settings.label.highest:g}], but one Solver step takes solver.prompts_per_step={needed}; "
            f"raise generate.questions or lower solver.prompts_per_step in a new run (see {work.folder / OUTPUT})"
        )
