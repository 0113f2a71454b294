"""C_t writes candidate questions (R-Zero's 8,000 at temperature 1.0 and top-p 0.95)."""

from collections import Counter

from rdiverse_verl.roles import challenger
from rdiverse_verl.roles.malformed import MalformedReply
from rdiverse_verl.selfplay.client import Request, ask
from rdiverse_verl.selfplay.records import write_records
from rdiverse_verl.selfplay.serving import served
from rdiverse_verl.selfplay.work import Outcome, Work

OUTPUT = "questions.jsonl"


def run(work: Work) -> Outcome:
    """Every reply is kept, with what was wrong with it where it is no valid proposal."""
    settings = work.settings.generate
    requests = [Request(challenger.messages(), work.seed(row)) for row in range(settings.questions)]
    with served(
        work.challenger(work.iteration), work.settings.serving, work.seed("server"), work.log / "server.log"
    ) as endpoint:
        replies = ask(endpoint, requests, settings.request(), work.settings.service, work.progress("question"))
    records = [_record(row, texts[0]) for row, texts in enumerate(replies)]
    write_records(work.folder / OUTPUT, records)
    invalid = Counter(record["invalid"] for record in records if record["invalid"])
    return Outcome(
        [OUTPUT],
        {
            "questions": len(records),
            "valid": len(records) - invalid.total(),
            "distinct": len({record["question"] for record in records if not record["invalid"]}),
            "invalid": dict(sorted(invalid.items())),
        },
    )


def _record(row: int, text: str) -> dict[str, str | int | None]:
    try:
        proposal = challenger.parse(text)
    except MalformedReply as malformed:
        return {"row": row, "question": None, "answer": None, "invalid": malformed.reason, "text": text}
    return {"row": row, "question": proposal.question, "answer": proposal.answer, "invalid": None, "text": text}
