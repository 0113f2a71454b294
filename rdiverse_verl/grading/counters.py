"""What grading did in this process: verdicts by kind, layers used, latency, workers replaced."""

import os
import threading
from collections import Counter, deque

from rdiverse_verl.grading.verdict import KINDS, Verdict

_LATENCIES_KEPT = 8192

_lock = threading.Lock()
_kinds: Counter[str] = Counter()
_paths: Counter[str] = Counter()
_latencies: deque[float] = deque(maxlen=_LATENCIES_KEPT)


def record(verdict: Verdict, seconds: float) -> Verdict:
    """Count one verdict; returns it."""
    with _lock:
        _kinds[verdict.kind] += 1
        _paths[verdict.path] += 1
        _latencies.append(seconds)
    return verdict


def verdict_counters() -> dict[str, float]:
    """``grader/<kind>`` and ``grader/path/<layer>`` so far, ``grader/latency_{p50,p95,p99,max}_s`` of recent calls."""
    with _lock:
        kinds, paths, latencies = dict(_kinds), dict(_paths), sorted(_latencies)
    counted: dict[str, float] = {f"grader/{kind}": kinds.get(kind, 0) for kind in KINDS}
    counted |= {f"grader/path/{path}": count for path, count in sorted(paths.items())}
    for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)):
        place = min(int(share * len(latencies)), len(latencies) - 1)
        counted[f"grader/latency_{name}_s"] = latencies[place] if latencies else 0.0
    return counted


def reset() -> None:
    """Start counting anew."""
    with _lock:
        _kinds.clear()
        _paths.clear()
        _latencies.clear()


def _start_anew_in_child() -> None:
    _lock.release()
    reset()


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_start_anew_in_child)
