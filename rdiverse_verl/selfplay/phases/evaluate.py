"""S_t on the held-out set."""

from collections import Counter

from rdiverse_verl.dataset import read_rows
from rdiverse_verl.grading import grade
from rdiverse_verl.selfplay.client import Request, ask
from rdiverse_verl.selfplay.records import write_records
from rdiverse_verl.selfplay.serving import served
from rdiverse_verl.selfplay.work import Outcome, Work, evaluation_data

OUTPUT = "predictions.jsonl"


def run(work: Work) -> Outcome:
    """One record per row: the reply and its verdict."""
    settings = work.settings.evaluate
    rows = read_rows(evaluation_data(work.settings))[: settings.limit]
    requests = [Request(row["prompt"], work.seed(row["extra_info"]["index"])) for row in rows]
    with served(
        work.solver(work.iteration), work.settings.serving, work.seed("server"), work.log / "server.log"
    ) as endpoint:
        replies = ask(
            endpoint, requests, settings.request(), work.settings.service, work.progress("evaluated question")
        )
    records = []
    for row, texts in zip(rows, replies, strict=True):
        gold = row["reward_model"]["ground_truth"]
        verdict = grade(texts[0], gold)
        records.append(
            {
                "index": row["extra_info"]["index"],
                "data_source": row["data_source"],
                "text": texts[0],
                "gold": gold,
                "answer": verdict.answer,
                "verdict": verdict.kind,
            }
        )
    write_records(work.folder / OUTPUT, records)
    verdicts = Counter(record["verdict"] for record in records)
    return Outcome(
        [OUTPUT], {"accuracy": verdicts["correct"] / len(records), "verdicts": dict(sorted(verdicts.items()))}
    )
