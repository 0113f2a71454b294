"""Judge a response against its gold answer."""

import time

from rdiverse_verl.grading import counters, service
from rdiverse_verl.grading.compare import Match
from rdiverse_verl.grading.extraction import Form, answer_parts
from rdiverse_verl.grading.matching import match_fully, match_quickly, number_of_parts
from rdiverse_verl.grading.pool import Failed
from rdiverse_verl.grading.verdict import Kind, Verdict

_KINDS: dict[Match, Kind] = {
    Match.SAME: "correct",
    Match.COMPATIBLE: "correct",
    Match.DIFFERENT: "wrong",
    Match.UNKNOWN: "unparsable",
}


def grade(prediction: str, gold: str, form: Form = "box") -> Verdict:
    """Judge the final answer of a response; safe from any thread, and bounded in time.

    ``form`` says what counts as the response's answer (see ``extract``). A gold without content is an ``error``: such a
    row must be refused when the data is made. Raises TypeError if either is not text, ServiceError if no worker starts.
    """
    begun = time.perf_counter()
    answer, verdict = _quickly(prediction, gold, form)
    return counters.record(verdict or _by_worker(answer, gold), time.perf_counter() - begun)


async def agrade(prediction: str, gold: str, form: Form = "box") -> Verdict:
    """``grade`` for an event loop: quick layers at once, workers awaited."""
    begun = time.perf_counter()
    answer, verdict = _quickly(prediction, gold, form)
    if verdict is None:
        import asyncio  # as long to import as all else here, and loaded wherever there is a loop to call this from

        loop = asyncio.get_running_loop()
        verdict = await loop.run_in_executor(service.threads(), _by_worker, answer, gold)
    return counters.record(verdict, time.perf_counter() - begun)


def equivalent(a: str, b: str) -> bool:
    """Whether two extracted answers mean the same. False when that cannot be found out within the limits."""
    try:
        match, _ = match_fully(a, b)
    except Failed:
        return False
    return match in (Match.SAME, Match.COMPATIBLE)


def grading_counters() -> dict[str, float]:
    """Verdicts by kind and layer, latencies and workers replaced in this process, as flat metrics."""
    return counters.verdict_counters() | {"grader/workers_replaced": service.workers_replaced()}


def _quickly(prediction: str, gold: str, form: Form) -> tuple[str, Verdict | None]:
    """The answer, and the verdict on it unless only a worker can tell."""
    for name, text in (("prediction", prediction), ("gold", gold)):
        if not isinstance(text, str):
            raise TypeError(f"{name} must be text, not {type(text).__name__}: {text!r}")
    parts = answer_parts(prediction, form)
    if len(parts) > 1 and number_of_parts(gold) != len(parts):
        parts = parts[-1:]  # neighbouring boxes are one answer only if the gold has as many parts
    answer = ", ".join(parts)
    if not gold.strip():
        return answer, Verdict("error", answer or None, "gold")
    if not answer:
        return answer, Verdict("unparsable", None, "extract")
    match, layer = match_quickly(answer, gold)
    return answer, None if layer == "pool" else Verdict(_KINDS[match], answer, layer)


def _by_worker(answer: str, gold: str) -> Verdict:
    try:
        match, layer = match_fully(answer, gold)
    except Failed as failed:
        return Verdict(failed.kind, answer, "pool")
    return Verdict(_KINDS[match], answer, layer)
