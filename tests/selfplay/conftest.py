"""A self-play run small enough for a test, driven through the real command."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RECIPE = Path(__file__).parents[2] / "recipes" / "tiny" / "selfplay.yaml"
SHORT = [
    "challenger.steps=2",
    "challenger.prompts_per_step=8",
    "challenger.prompts_per_update=8",
    "challenger.samples_per_device=32",
    "solver.steps=2",
    "solver.prompts_per_step=16",
    "solver.prompts_per_update=16",
    "solver.samples_per_device=80",
    "generate.questions=96",
    "evaluate.limit=40",
]
DEADLINE_S = 900


@pytest.fixture
def selfplay_command() -> Callable[..., list[str]]:
    def command(run_dir: Path, *more: str) -> list[str]:
        rdiverse = [sys.executable, "-m", "rdiverse_verl"]
        return [*rdiverse, "selfplay", str(RECIPE), *SHORT, *more, "--run-dir", str(run_dir)]

    return command


@pytest.fixture
def run_selfplay(selfplay_command: Callable[..., list[str]]) -> Callable[..., str]:
    """Run to the end; returns what the terminal showed."""

    def run(run_dir: Path, *more: str) -> str:
        done = subprocess.run(
            selfplay_command(run_dir, *more), capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
        tail = "\n".join([*done.stdout.splitlines()[-30:], *done.stderr.splitlines()[-30:]])
        assert done.returncode == 0, tail
        return done.stdout

    return run


@pytest.fixture
def hashes_of() -> Callable[[Path, int], dict[str, Any]]:
    def read(run_dir: Path, iteration: int) -> dict[str, Any]:
        summary = json.loads((run_dir / "summary.json").read_text())
        return summary["iterations"][iteration]["hashes"]

    return read


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    os.environ.pop("VERL_PLATFORM", None)
