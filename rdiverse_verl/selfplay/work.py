"""What a phase is given: settings, its folder, the models and files of earlier phases, and a way to report progress."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rdiverse_verl.errors import ConfigError
from rdiverse_verl.seeds import derive_seed
from rdiverse_verl.selfplay.journal import PhaseFolder
from rdiverse_verl.selfplay.plan import Phase
from rdiverse_verl.selfplay.settings import SelfPlay

PACKAGED = "pkg://"
CENTRE = "centre.npy"
MEMORY = "memory.sqlite"


@dataclass(frozen=True)
class Outcome:
    """What a phase leaves: files or folders relative to its own, and the figures worth a summary."""

    outputs: list[str]
    facts: dict[str, Any]


@dataclass(frozen=True)
class Work:
    """One phase of one run."""

    settings: SelfPlay
    run_dir: Path
    phase: Phase
    report: Callable[[str], None] = lambda text: None

    @property
    def iteration(self) -> int:
        return self.phase.iteration

    @property
    def folder(self) -> Path:
        return self.run_dir / self.phase.folder

    @property
    def log(self) -> Path:
        return self.folder / "logs"

    @property
    def memory(self) -> Path:
        return self.run_dir / MEMORY

    @property
    def centre(self) -> Path | None:
        """The reference mean that SAM vectors are centred by, where the recipe calibrates them."""
        return self.earlier(0, "prepare") / CENTRE if self.settings.skill.calibration else None

    def seed(self, *parts: int | str) -> int:
        """A seed of this phase's own; ``parts`` tell apart what happens inside it."""
        return derive_seed(self.settings.seed, self.iteration, self.phase.kind, *parts)

    def earlier(self, iteration: int, kind: str) -> Path:
        """The folder of another phase."""
        return self.run_dir / Phase(iteration, kind).folder

    def challenger(self, iteration: int) -> str:
        """C_t; C_0 is the base model."""
        return self._model(iteration, "export_challenger")

    def solver(self, iteration: int) -> str:
        """S_t; S_0 is the base model."""
        return self._model(iteration, "export_solver")

    def coder(self) -> str:
        return locate(self.settings.coder.model, "coder.model")

    def _model(self, iteration: int, kind: str) -> str:
        if iteration == 0:
            return locate(self.settings.base_model, "base_model")
        return str(self.earlier(iteration, kind) / "model")

    def progress(self, doing: str) -> Callable[[int, int], None]:
        """A callback that reports ``done`` of ``total`` under a name."""
        return lambda done, total: self.report(f"{doing} {done}/{total}")


def locate(name: str, key: str) -> str:
    """An absolute path, also for ``pkg://package/path``; a name that is no path as it is. Raises ConfigError."""
    if not name.startswith(PACKAGED):
        return str(Path(name).absolute()) if Path(name).exists() else name
    package, _, inside = name.removeprefix(PACKAGED).partition("/")
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(f"{key}: {name!r} names no installed package")
    path = Path(next(iter(spec.submodule_search_locations))) / inside
    if not path.exists():
        raise ConfigError(f"{key}: {path} does not exist")
    return str(path)


def phase_folder(run_dir: Path, phase: Phase) -> PhaseFolder:
    return PhaseFolder(run_dir / phase.folder)


def evaluation_data(settings: SelfPlay) -> Path:
    return Path(locate(settings.evaluate.data, "evaluate.data"))
