"""Programs and vectors of the kept questions, the memory's append, and the replay mix (Eq. 6 and 10, Sec. 3.1)."""

from rdiverse_verl.algorithms.replay import replay_rows, replay_size
from rdiverse_verl.dataset import Row, make_row, write_rows
from rdiverse_verl.errors import StateError
from rdiverse_verl.memory.bank import MemoryBank, MemoryRow
from rdiverse_verl.roles import coder, solver
from rdiverse_verl.roles.malformed import MalformedReply
from rdiverse_verl.selfplay.client import Request, ask
from rdiverse_verl.selfplay.phases import label
from rdiverse_verl.selfplay.records import Record, read_records, write_records
from rdiverse_verl.selfplay.serving import coder_endpoint
from rdiverse_verl.selfplay.skillspace import open_skill_space
from rdiverse_verl.selfplay.work import Outcome, Work

PROGRAMS = "programs.jsonl"
TRAIN = "train.parquet"


def run(work: Work) -> Outcome:
    """Rows whose program failed are neither remembered nor trained on; they are counted."""
    kept = [record for record in read_records(work.earlier(work.iteration, "label") / label.OUTPUT) if record["kept"]]
    programs = _programs(work, kept)
    write_records(work.folder / PROGRAMS, programs)
    good = [program for program in programs if program["code"] is not None]
    failed = len(programs) - len(good)
    if failed > work.settings.reward.max_failed_share * len(programs):
        raise StateError(
            f"iteration {work.iteration}: no program could be read for {failed} of {len(programs)} questions, more "
            f"than reward.max_failed_share={work.settings.reward.max_failed_share:g}; see {work.folder / PROGRAMS}"
        )
    space = open_skill_space(work)
    vectors = space.vectors([program["code"] for program in good])
    new = [
        MemoryRow(
            question=row["question"],
            answer=row["label"],
            p_hat=row["p_hat"],
            code=row["code"],
            vector=vector,
            iteration=work.iteration,
        )
        for row, vector in zip(good, vectors, strict=True)
    ]
    with MemoryBank(work.memory, space.id, space.dim) as bank:
        bank.truncate_from(work.iteration)  # what an interrupted run of this phase may have left
        bank.append(work.iteration, new)
        history = bank.frozen(work.iteration).rows
        digest = bank.digest()
        size = len(bank)
    replayed = replay_rows(
        len(history), replay_size(len(new), work.settings.replay_ratio, len(history)), work.seed("replay")
    )
    pairs = [(row.question, row.answer, "new") for row in new]
    pairs += [(history[row].question, history[row].answer, "replay") for row in replayed]
    write_rows(work.folder / TRAIN, [_train_row(index, *pair) for index, pair in enumerate(pairs)])
    return Outcome(
        [PROGRAMS, TRAIN],
        {
            "sam_failed": failed,
            "new_rows": len(new),
            "replayed_rows": len(replayed),
            "replay_share": len(replayed) / len(pairs),
            "memory_size": size,
            "memory_digest": digest,
            "skill_space": space.id,
            "dim": space.dim,
        },
    )


def _programs(work: Work, kept: list[Record]) -> list[Record]:
    """The Coder's greedy program for each question, or why there is none."""
    sampling = {"temperature": 0.0, "max_tokens": work.settings.coder.max_tokens}
    requests = [Request(coder.messages(record["question"]), work.seed(record["row"])) for record in kept]
    with coder_endpoint(work) as endpoint:
        replies = ask(endpoint, requests, sampling, work.settings.service, work.progress("program"))
    return [_program(record, texts[0]) for record, texts in zip(kept, replies, strict=True)]


def _program(record: Record, text: str) -> Record:
    known = {key: record[key] for key in ("row", "question", "label", "p_hat")}
    try:
        return {**known, "code": coder.parse(text), "failure": None}
    except MalformedReply as malformed:
        return {**known, "code": None, "failure": str(malformed)}


def _train_row(index: int, question: str, answer: str, origin: str) -> Row:
    return make_row(
        data_source="rdiverse",
        prompt=solver.messages(question),
        ground_truth=answer,
        index=index,
        split="train",
        id=origin,
    )
