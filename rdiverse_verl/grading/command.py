"""``rdiverse grade``: judge a file of predictions."""

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rdiverse_verl.errors import DataError
from rdiverse_verl.grading.extraction import Form
from rdiverse_verl.grading.grader import grade, grading_counters
from rdiverse_verl.grading.limits import Limits
from rdiverse_verl.grading.verdict import Verdict


def grade_file(jsonl: Path, out: Path | None = None, stats: bool = False, form: Form = "bare") -> None:
    """Read ``{"prediction", "gold"}`` lines and write ``{"verdict", "answer", "path"}`` lines in the same order.

    They go to ``out`` (whole or not at all) or to standard output; ``stats`` prints the counters on standard error. A
    malformed line raises DataError with file and line number before anything is graded.
    """
    lines = (json.dumps(as_row(verdict), ensure_ascii=False) for verdict in _graded(read_pairs(jsonl), form))
    if out is None:
        for line in lines:
            print(line)
    else:
        unfinished = out.with_name(f".{out.name}.{os.getpid()}")
        try:
            unfinished.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            unfinished.replace(out)
        finally:
            unfinished.unlink(missing_ok=True)
    if stats:
        print(json.dumps(grading_counters(), indent=2), file=sys.stderr)


def read_pairs(jsonl: Path) -> list[tuple[str, str]]:
    """(prediction, gold) of every line. Raises DataError with file and line number."""
    pairs: list[tuple[str, str]] = []
    try:
        text = jsonl.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{jsonl}: cannot be read as UTF-8 text: {error}") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(f"{jsonl}:{number}: not JSON: {error}") from error
        if not isinstance(row, dict):
            raise DataError(f"{jsonl}:{number}: not an object with 'prediction' and 'gold' but {line.strip()[:80]}")
        for key in ("prediction", "gold"):
            if not isinstance(row.get(key), str):
                raise DataError(f"{jsonl}:{number}: {key!r} must be text, not {row.get(key, 'missing')!r}")
        pairs.append((row["prediction"], row["gold"]))
    return pairs


def as_row(verdict: Verdict) -> dict[str, str | None]:
    """A verdict as it is written to a file."""
    return {"verdict": verdict.kind, "answer": verdict.answer, "path": verdict.path}


def _graded(pairs: list[tuple[str, str]], form: Form) -> Iterator[Verdict]:
    with ThreadPoolExecutor(Limits.from_environment().workers) as threads:
        yield from threads.map(lambda pair: grade(pair[0], pair[1], form), pairs)
