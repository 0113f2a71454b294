"""How two answers match, in layers: written alike, refused by the screen, decided exactly, decided by a worker."""

import os
import threading
from functools import lru_cache

from rdiverse_verl.grading import exact, service
from rdiverse_verl.grading.answer import Several
from rdiverse_verl.grading.compare import Match, compare
from rdiverse_verl.grading.normal import normalize
from rdiverse_verl.grading.pool import Failed
from rdiverse_verl.grading.reading import read
from rdiverse_verl.grading.screen import MAX_LENGTH, refusal

_HOPELESS_KEPT = 4096

_hopeless: dict[str, None] = {}
_hopeless_lock = threading.Lock()


def match_quickly(a: str, b: str) -> tuple[Match, str]:
    """(match, layer) without leaving this process, within milliseconds; UNKNOWN where only a worker can tell."""
    if not a.strip() or not b.strip():
        return Match.DIFFERENT, "text"
    if a == b:
        return Match.SAME, "text"
    number = exact.plain(a)
    if number is not None and (other := exact.plain(b)) is not None:
        return (Match.SAME if number == other else Match.DIFFERENT), "exact"
    if len(a) > 2 * MAX_LENGTH or len(b) > 2 * MAX_LENGTH:
        return Match.UNKNOWN, "screen"
    x, y = normalize(a), normalize(b)
    if x == y:
        return (Match.SAME if x else Match.DIFFERENT), "text"
    if not x or not y:
        return Match.DIFFERENT, "text"
    if refusal(x) or refusal(y):
        return Match.UNKNOWN, "screen"
    match = compare(read(x), read(y), exact)
    return match, "exact" if match is not Match.UNKNOWN else "pool"


def match_fully(a: str, b: str) -> tuple[Match, str]:
    """(match, layer), asking a worker if need be. Raises ``Failed`` when the worker did not finish."""
    match, layer = match_quickly(a, b)
    return (_by_worker(*sorted((normalize(a), normalize(b)))), "pool") if layer == "pool" else (match, layer)


@lru_cache(maxsize=65536)
def _by_worker(x: str, y: str) -> Match:
    """Sorted, so that a verdict does not depend on which side is which; failures raise and are not kept."""
    for text in (x, y):
        if text in _hopeless:
            raise Failed("timeout", text)
    try:
        return service.pool().compare(x, y)
    except Failed as failed:
        if failed.blame:
            with _hopeless_lock:
                _hopeless[failed.blame] = None
                if len(_hopeless) > _HOPELESS_KEPT:
                    del _hopeless[next(iter(_hopeless))]
        raise


@lru_cache(maxsize=65536)
def number_of_parts(gold: str) -> int:
    """How many parts a list, set or tuple has; 1 for anything else."""
    shape = read(normalize(gold))
    return len(shape.items) if isinstance(shape, Several) else 1


def forget() -> None:
    """Empty the caches of this process."""
    _by_worker.cache_clear()
    with _hopeless_lock:
        _hopeless.clear()


os.register_at_fork(
    before=_hopeless_lock.acquire, after_in_parent=_hopeless_lock.release, after_in_child=_hopeless_lock.release
)
