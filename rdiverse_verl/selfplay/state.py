"""Read a run directory without touching it."""

from pathlib import Path
from typing import Any

from rich.console import Console

from rdiverse_verl.config import load_settings
from rdiverse_verl.errors import StateError
from rdiverse_verl.selfplay.journal import holder
from rdiverse_verl.selfplay.plan import Phase, phases
from rdiverse_verl.selfplay.progress import clock
from rdiverse_verl.selfplay.settings import SelfPlay
from rdiverse_verl.selfplay.work import phase_folder


def run_settings(run_dir: Path) -> SelfPlay:
    """The settings a run was started with; raises StateError when the folder holds no run."""
    file = run_dir / "config.yaml"
    if not file.is_file():
        raise StateError(f"{run_dir} holds no self-play run (no config.yaml)")
    return load_settings(SelfPlay, file)


def done_phases(run_dir: Path, plan: list[Phase]) -> list[tuple[Phase, dict[str, Any]]]:
    """The finished phases with their manifests, in plan order."""
    folders = [(phase, phase_folder(run_dir, phase)) for phase in plan]
    return [(phase, folder.manifest()) for phase, folder in folders if folder.done]


def print_status(run_dir: Path, settings: SelfPlay, console: Console) -> None:
    """One line per phase: done and how long it took, under way, or to come; and whether a driver is at work."""
    plan = phases(settings.iterations)
    finished = dict(done_phases(run_dir, plan))
    for phase in plan:
        if phase in finished:
            what = f"done in {clock(finished[phase]['seconds'])}"
        else:
            what = "begun" if (run_dir / phase.folder).is_dir() else "to come"
        console.print(f"iteration {phase.iteration} {phase.kind:<17} {what}", highlight=False)
    console.print(
        f"{len(finished)} of {len(plan)} phases done; {holder(run_dir) or 'no driver is at work'}", highlight=False
    )
