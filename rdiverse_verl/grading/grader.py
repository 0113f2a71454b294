"""Judge a response against its gold answer."""

import asyncio
import time

from rdiverse_verl.grading import counters, service
from rdiverse_verl.grading.compare import Match
from rdiverse_verl.grading.extraction import Form, extract, extract_boxes
from rdiverse_verl.grading.matching import match_fully, match_quickly
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
    row must be refused when the data is made. Raises TypeError if either is not text, ServiceError if no worker can start.
    """
    begun = time.perf_counter()
    verdict = _without_comparing(prediction, gold, form) or _compared(_answer(prediction, gold, form), gold)
    return counters.record(verdict, time.perf_counter() - begun)


async def agrade(prediction: str, gold: str, form: Form = "box") -> Verdict:
    """``grade`` for an event loop: quick layers at once, workers awaited."""
    begun = time.perf_counter()
    verdict = _without_comparing(prediction, gold, form)
    if verdict is None:
        answer = _answer(prediction, gold, form)
        verdict = _quickly(answer, gold)
        if verdict is None:
            loop = asyncio.get_running_loop()
            verdict = await loop.run_in_executor(service.threads(), _compared, answer, gold)
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


def _without_comparing(prediction: str, gold: str, form: Form) -> Verdict | None:
    for name, text in (("prediction", prediction), ("gold", gold)):
        if not isinstance(text, str):
            raise TypeError(f"{name} must be text, not {type(text).__name__}: {text!r}")
    answer = extract(prediction, form)
    if not gold.strip():
        return Verdict("error", answer, "gold")
    return None if answer else Verdict("unparsable", None, "extract")


def _answer(prediction: str, gold: str, form: Form) -> str:
    """Neighbouring boxes are parts of one answer only if the gold has as many parts."""
    boxes = extract_boxes(prediction)
    if not boxes:
        return extract(prediction, form) or ""
    return ", ".join(boxes) if len(boxes) > 1 and _parts(gold) == len(boxes) else boxes[-1]


def _parts(gold: str) -> int:
    from rdiverse_verl.grading.answer import Several, read
    from rdiverse_verl.grading.normal import normalize

    shape = read(normalize(gold))
    return len(shape.items) if isinstance(shape, Several) else 1


def _quickly(answer: str, gold: str) -> Verdict | None:
    match, layer = match_quickly(answer, gold)
    return None if layer == "pool" else Verdict(_KINDS[match], answer, layer)


def _compared(answer: str, gold: str) -> Verdict:
    try:
        match, layer = match_fully(answer, gold)
    except Failed as failed:
        return Verdict("timeout" if failed.kind == "timeout" else "error", answer, "pool")
    return Verdict(_KINDS[match], answer, layer)
