"""What the terminal shows: the phase, how far it is, key figures, time left. Lines only, so that logs read well too."""

import sys
import time
from typing import Any

from rdiverse_verl.selfplay.plan import Phase

QUIET_S = 10.0  # where lines cannot be overwritten, say something this often


class Progress:
    """Reports a run on standard output."""

    def __init__(self, plan: list[Phase]) -> None:
        self._plan = plan
        self._seconds: dict[str, list[float]] = {}  # of finished phases, by kind: what the time left is estimated from
        self._phase = plan[0]
        self._started = time.monotonic()
        self._said = 0.0
        self._live = sys.stdout.isatty()

    def skip(self, phase: Phase) -> None:
        self._line(f"{self._name(phase)}  done before")

    def start(self, phase: Phase) -> None:
        self._phase, self._started, self._said = phase, time.monotonic(), 0.0
        self.update("starting")

    def update(self, text: str) -> None:
        """A phase says how far it is."""
        now = time.monotonic()
        if not self._live and now - self._said < QUIET_S and self._said:
            return
        self._said = now
        line = f"{self._name(self._phase)}  {text}  [{clock(now - self._started)}{self._left(now)}]"
        if self._live:
            print(f"\r\033[K{line}", end="", flush=True)
        else:
            print(line, flush=True)

    def finish(self, phase: Phase, seconds: float, facts: dict[str, Any]) -> None:
        self._seconds.setdefault(phase.kind, []).append(seconds)
        self._line(f"{self._name(phase)}  done in {clock(seconds)}  {_figures(facts)}".rstrip())

    def _line(self, text: str) -> None:
        print(f"\r\033[K{text}" if self._live else text, flush=True)

    def _name(self, phase: Phase) -> str:
        return f"[{self._plan.index(phase) + 1:2d}/{len(self._plan)}] iteration {phase.iteration} {phase.kind:<17}"

    def _left(self, now: float) -> str:
        """Time left of the run, once each kind of phase still to come has been seen."""
        todo = self._plan[self._plan.index(self._phase) :]
        if any(phase.kind not in self._seconds for phase in todo):
            return ""
        total = sum(sum(self._seconds[phase.kind]) / len(self._seconds[phase.kind]) for phase in todo)
        return f", about {clock(max(0.0, total - (now - self._started)))} left"


def clock(seconds: float) -> str:
    """``75`` -> ``1:15``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _figures(facts: dict[str, Any]) -> str:
    shown = {key: value for key, value in facts.items() if isinstance(value, int | float)}
    return "  ".join(
        f"{key}={value:.3g}" if isinstance(value, float) else f"{key}={value}" for key, value in shown.items()
    )
