"""What a run consists of: the phases of each iteration, in order, and which earlier phases each one reads.

Iteration t: train the Challenger from C_{t-1} against the frozen S_{t-1}; generate questions with C_t; label them by
the vote of S_{t-1}; remember them; train the Solver S_t from S_{t-1}; evaluate it (R-Diverse, Fig. 2).
"""

from dataclasses import dataclass

from rdiverse_verl.errors import ConfigError

NUMBERS = {
    "prepare": 0,
    "train_challenger": 10,
    "export_challenger": 15,
    "generate": 20,
    "label": 30,
    "remember": 40,
    "train_solver": 50,
    "export_solver": 55,
    "evaluate": 60,
}


@dataclass(frozen=True)
class Phase:
    """One step of the journal."""

    iteration: int
    kind: str
    needs: tuple["Phase", ...] = ()

    @property
    def folder(self) -> str:
        return f"iter_{self.iteration:02d}/{NUMBERS[self.kind]:02d}_{self.kind}"

    @property
    def label(self) -> str:
        """How ``--stop-after`` and messages name it."""
        return f"{self.iteration}:{self.kind}"


def phases(iterations: int) -> list[Phase]:
    """All phases of a run, in the order they run."""
    prepare = Phase(0, "prepare")
    plan = [prepare, Phase(0, "evaluate", (prepare,))]
    challenger: tuple[Phase, ...] = ()  # the exports that C_{t-1} and S_{t-1} come from; none at t = 1: the base model
    solver: tuple[Phase, ...] = ()
    memory: tuple[Phase, ...] = ()
    for t in range(1, iterations + 1):
        train_c = Phase(t, "train_challenger", (prepare, *challenger, *solver, *memory))
        export_c = Phase(t, "export_challenger", (train_c,))
        generate = Phase(t, "generate", (export_c,))
        label = Phase(t, "label", (generate, *solver))
        remember = Phase(t, "remember", (prepare, label, *memory))
        train_s = Phase(t, "train_solver", (remember, *solver))
        export_s = Phase(t, "export_solver", (train_s,))
        plan += [
            train_c,
            export_c,
            generate,
            label,
            remember,
            train_s,
            export_s,
            Phase(t, "evaluate", (prepare, export_s)),
        ]
        challenger, solver, memory = (export_c,), (export_s,), (*memory, remember)
    return plan


def find_phase(plan: list[Phase], label: str) -> Phase:
    """The phase that a label such as ``2:label`` names; raises ConfigError with the known ones."""
    for phase in plan:
        if phase.label == label:
            return phase
    raise ConfigError(f"no phase {label!r}; this run's phases are {', '.join(phase.label for phase in plan)}")
