"""Walk the plan: skip what is done, run what is not, stop where asked. Killed anywhere, it continues where it was."""

import shutil
import time
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from rdiverse_verl.errors import StateError
from rdiverse_verl.memory.bank import MemoryBank
from rdiverse_verl.selfplay.journal import PhaseFolder, locked, write_atomic
from rdiverse_verl.selfplay.plan import Phase, find_phase, phases
from rdiverse_verl.selfplay.preflight import preflight
from rdiverse_verl.selfplay.progress import Progress
from rdiverse_verl.selfplay.settings import SelfPlay
from rdiverse_verl.selfplay.state import done_phases
from rdiverse_verl.selfplay.summary import print_summary, write_summary
from rdiverse_verl.selfplay.training import CHECKPOINTS
from rdiverse_verl.selfplay.work import MEMORY, Work, phase_folder

VERSIONS = ("rdiverse-verl", "verl", "torch", "transformers", "ray", "numpy")
RESUMABLE = {"train_challenger", "train_solver"}  # verl continues from its own checkpoint


def run_selfplay(settings: SelfPlay, run_dir: Path, stop_after: str | None = None) -> None:
    """Run or continue a self-play run.

    Raises:
        ConfigError: the settings cannot work here, found before anything expensive starts.
        StateError: the run directory is in use, belongs to other settings, or was changed by somebody else.
        ServiceError: a served model or a training run failed.
    """
    plan = phases(settings.iterations)
    last = find_phase(plan, stop_after) if stop_after else plan[-1]
    preflight(settings)
    with locked(run_dir):
        _own(settings, run_dir)
        _check_memory(run_dir, plan)
        progress = Progress(plan)
        for phase in plan[: plan.index(last) + 1]:
            _run_phase(Work(settings, run_dir, phase, progress.update), progress)
        print_summary(write_summary(run_dir, settings), Console())


def _own(settings: SelfPlay, run_dir: Path) -> None:
    """Write the settings into a new run directory; refuse one that was started with others."""
    file = run_dir / "config.yaml"
    current = settings.model_dump()
    if not file.is_file():
        if any(run_dir.glob("iter_*")):
            raise StateError(f"{file} is gone, though phases were run; restore it, or use another --run-dir")
        write_atomic(file, yaml.safe_dump(current, sort_keys=False))
        return
    changes = list(_differences(yaml.safe_load(file.read_text(encoding="utf-8")), current))
    if changes:
        lines = "\n".join(f"  {key}: {old!r} there, {new!r} now" for key, old, new in changes)
        raise StateError(f"{run_dir} was started with other settings; use them, or another --run-dir:\n{lines}")


def _differences(old: Any, new: Any, prefix: str = "") -> list[tuple[str, Any, Any]]:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return [] if old == new else [(prefix, old, new)]
    found = []
    for key in [*old, *(key for key in new if key not in old)]:
        found += _differences(old.get(key), new.get(key), f"{prefix}.{key}" if prefix else key)
    return found


def _check_memory(run_dir: Path, plan: list[Phase]) -> None:
    """The memory must still be what the last remember phase left; rows of a later, interrupted one do not count."""
    done = [(phase, manifest) for phase, manifest in done_phases(run_dir, plan) if phase.kind == "remember"]
    if not done:
        return
    phase, facts = done[-1][0], done[-1][1]["facts"]
    path = run_dir / MEMORY
    if not path.is_file():
        raise StateError(f"{path} is gone, though iteration {phase.iteration} was remembered; restore it")
    with MemoryBank(path, facts["skill_space"], facts["dim"]) as bank:
        if bank.digest(before_iteration=phase.iteration + 1) != facts["memory_digest"]:
            raise StateError(
                f"{path} is not what iteration {phase.iteration} left; restore it, or use another --run-dir"
            )


def _run_phase(work: Work, progress: Progress) -> None:
    folder = phase_folder(work.run_dir, work.phase)
    inputs = {need.folder: phase_folder(work.run_dir, need).digest() for need in work.phase.needs}
    if folder.done:
        _check_done(folder, inputs)
        _tidy(work)
        progress.skip(work.phase)
        return
    progress.start(work.phase)
    folder.start(keep_partial=work.phase.kind in RESUMABLE)
    started = time.time()
    outcome = import_module(f"rdiverse_verl.selfplay.phases.{work.phase.kind}").run(work)
    seconds = time.time() - started
    folder.finish(
        outcome.outputs,
        {
            "phase": work.phase.label,
            "inputs": inputs,
            "facts": outcome.facts,
            "seed": work.seed(),
            "seconds": round(seconds, 3),
            "finished_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "versions": {name: version(name) for name in VERSIONS},
        },
    )
    _tidy(work)
    progress.finish(work.phase, seconds, outcome.facts)


def _tidy(work: Work) -> None:
    """Once a model is exported nothing reads its training checkpoints; optimizer states are most of a run's disk."""
    if work.phase.kind.startswith("export"):
        shutil.rmtree(phase_folder(work.run_dir, work.phase.needs[0]).path / CHECKPOINTS, ignore_errors=True)


def _check_done(folder: PhaseFolder, inputs: dict[str, str]) -> None:
    folder.check()
    recorded = folder.manifest().get("inputs", {})
    for name, digest in inputs.items():
        if recorded.get(name) != digest:
            raise StateError(
                f"{folder.path} was made from another {name}; remove {folder.path} to run this phase again"
            )
