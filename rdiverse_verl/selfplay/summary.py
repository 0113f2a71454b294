"""A run in one table: per iteration what was learnt, what was penalised, what was remembered, and what it cost."""

import hashlib
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from rdiverse_verl.selfplay.journal import write_atomic
from rdiverse_verl.selfplay.picture import draw
from rdiverse_verl.selfplay.plan import phases
from rdiverse_verl.selfplay.settings import SelfPlay
from rdiverse_verl.selfplay.state import done_phases

# What two runs with one seed must agree on: (name, phase, the output's name starts with)
HASHED = [
    ("questions", "generate", "questions"),
    ("labels", "label", "labels"),
    ("training_set", "remember", "train"),
    ("challenger", "export_challenger", "model/model"),
    ("solver", "export_solver", "model/model"),
]

COLUMNS = {  # key of an iteration's summary -> heading and format
    "accuracy": ("accuracy", ".1%"),
    "valid_rate": ("valid", ".1%"),
    "mean_p_hat": ("p̂", ".2f"),
    "kept": ("kept", "d"),
    "clusters": ("clusters", ".1f"),
    "p_rep": ("P_rep", ".3f"),
    "p_map": ("P_MAP", ".3f"),
    "memory_size": ("memory", "d"),
    "seconds": ("seconds", ".0f"),
}
DRAWN = {"first_match_rate", "last_match_rate"}


def summarise(run_dir: Path, settings: SelfPlay) -> dict[str, Any]:
    """The figures of every phase that is done, by iteration, and one digest of all that must be reproducible."""
    iterations: dict[int, dict[str, Any]] = {}
    for phase, manifest in done_phases(run_dir, phases(settings.iterations)):
        entry = iterations.setdefault(
            phase.iteration, {"iteration": phase.iteration, "seconds": 0.0, "phases": {}, "hashes": {}}
        )
        entry["seconds"] += manifest["seconds"]
        entry["phases"][phase.kind] = manifest["seconds"]
        entry.update({key: value for key, value in manifest["facts"].items() if key in COLUMNS or key in DRAWN})
        if "memory_digest" in manifest["facts"]:
            entry["hashes"]["memory"] = manifest["facts"]["memory_digest"]
        for name, kind, prefix in HASHED:
            if phase.kind == kind:
                files = {file: sha for file, sha in manifest["outputs"].items() if file.startswith(prefix)}
                entry["hashes"][name] = _digest(files)
    rows = [iterations[number] for number in sorted(iterations)]
    return {"seed": settings.seed, "iterations": rows, "digest": _digest([row["hashes"] for row in rows])}


def write_summary(run_dir: Path, settings: SelfPlay) -> dict[str, Any]:
    """Write ``summary.json`` and ``summary.png``; returns what was written."""
    summary = summarise(run_dir, settings)
    write_atomic(run_dir / "summary.json", json.dumps(summary, indent=2) + "\n")
    draw(summary["iterations"], run_dir / "summary.png")
    return summary


def print_summary(summary: dict[str, Any], console: Console) -> None:
    table = Table(title=f"seed {summary['seed']}, digest {summary['digest'][:12]}", box=None, padding=(0, 1))
    table.add_column("iter", justify="right", no_wrap=True)
    for heading, _ in COLUMNS.values():
        table.add_column(heading, justify="right", no_wrap=True)
    for row in summary["iterations"]:
        cells = [format(row[key], form) if row.get(key) is not None else "–" for key, (_, form) in COLUMNS.items()]
        table.add_row(str(row["iteration"]), *cells)
    console.print(table)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
