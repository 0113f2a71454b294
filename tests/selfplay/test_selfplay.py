"""The demo, shortened: two iterations through stock verl; and the same again under kill -9."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import yaml

from rdiverse_verl.dataset import read_rows
from rdiverse_verl.memory import FrozenMemory
from rdiverse_verl.selfplay.plan import phases

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

Command = Callable[..., list[str]]
Run = Callable[..., str]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("selfplay") / "unbroken"


def test_two_iterations_end_to_end(finished: Path, run_selfplay: Run) -> None:
    shown = run_selfplay(finished)
    summary = json.loads((finished / "summary.json").read_text())
    assert [row["iteration"] for row in summary["iterations"]] == [0, 1, 2]
    for row in summary["iterations"][1:]:
        assert 0 < row["accuracy"] < 1
        assert row["valid_rate"] > 0.5
        assert 0 < row["mean_p_hat"] < 1
        assert row["kept"] >= 16
        assert 1 <= row["clusters"] <= 32
        assert 0 < row["p_rep"] <= 1
        assert set(row["hashes"]) == {"questions", "labels", "training_set", "memory", "challenger", "solver"}
    first, second = summary["iterations"][1:]
    assert first["p_map"] == 0  # nothing is remembered before the first iteration
    assert second["p_map"] > 0
    assert second["memory_size"] > first["memory_size"] > 0
    assert first["hashes"]["solver"] != second["hashes"]["solver"]
    assert (finished / "summary.png").read_bytes().startswith(b"\x89PNG")
    for phase in phases(2):
        assert f"iteration {phase.iteration} {phase.kind}" in shown


def test_rollout_and_trainer_agree_on_every_step(finished: Path) -> None:
    files = sorted(finished.glob("iter_*/*_train_*/metrics.jsonl"))
    assert len(files) == 4
    for file in files:
        steps = [json.loads(line)["data"] for line in file.read_text().splitlines()]
        assert len(steps) == 2
        assert all(step["training/rollout_probs_diff_max"] <= 1e-5 for step in steps)


def test_the_second_training_set_holds_the_replay_ratio(finished: Path) -> None:
    rows = read_rows(finished / "iter_02" / "40_remember" / "train.parquet")
    origins = [row["extra_info"]["id"] for row in rows]
    manifest = json.loads((finished / "iter_02" / "40_remember" / "manifest.json").read_text())
    new, available = manifest["facts"]["new_rows"], len(_memory(finished, before=2).rows)
    assert origins.count("new") == new
    assert origins.count("replay") == min(round(0.3 / 0.7 * new), available)


def test_nothing_of_a_finished_run_is_left_running(finished: Path) -> None:
    assert _processes_of(finished) == []


def test_running_again_changes_nothing(finished: Path, run_selfplay: Run) -> None:
    before = (finished / "summary.json").read_bytes()
    started = time.monotonic()
    shown = run_selfplay(finished)
    assert time.monotonic() - started < 60
    assert shown.count("done before") == len(phases(2))
    assert (finished / "summary.json").read_bytes() == before


def test_other_settings_are_refused_with_the_difference(finished: Path, selfplay_command: Command) -> None:
    done = subprocess.run(
        selfplay_command(finished, "seed=8", "solver.learning_rate=0.5"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "seed: 7 there, 8 now" in done.stderr
    assert "solver.learning_rate: 0.0003 there, 0.5 now" in done.stderr


@pytest.mark.parametrize("output", ["iter_01/30_label/labels.jsonl", "iter_01/55_export_solver/model/config.json"])
def test_an_output_changed_by_hand_is_refused_by_name(finished: Path, output: str, selfplay_command: Command) -> None:
    path = finished / output
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    try:
        done = subprocess.run(selfplay_command(finished), capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert f"{path} has changed" in done.stderr
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("damage", ["gone", "forgotten"])
def test_a_memory_that_is_not_the_runs_own_is_refused(finished: Path, damage: str, selfplay_command: Command) -> None:
    memory, aside = finished / "memory.sqlite", finished / "memory.aside"
    memory.rename(aside)
    if damage == "forgotten":
        shutil.copy(aside, memory)
        with sqlite3.connect(memory) as connection:
            connection.execute("DELETE FROM rows WHERE iteration = 1")
    try:
        done = subprocess.run(selfplay_command(finished), capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert f"{memory} is {'gone' if damage == 'gone' else 'not what iteration 2 left'}" in done.stderr
    finally:
        aside.replace(memory)


def test_ctrl_c_stops_everything_and_says_how_to_go_on(tmp_path: Path, selfplay_command: Command) -> None:
    run_dir = tmp_path / "stopped"
    driver = subprocess.Popen(
        selfplay_command(run_dir),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # a shell starts background jobs deaf to Ctrl-C, and their children inherit it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while not (run_dir / "iter_00" / "60_evaluate" / "logs" / "server.log").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    driver.send_signal(signal.SIGINT)
    _, said = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert "rdiverse: stopped; the same command continues" in said
    assert _processes_of(run_dir) == []


# Where the driver is killed: as soon as the file exists. The last one leaves a phase done and the next not begun.
KILLED_AT = [
    "iter_01/10_train_challenger/checkpoints/latest_checkpointed_iteration.txt",
    "iter_01/20_generate/logs/server.log",
    "iter_01/30_label/labels.jsonl",
    "iter_01/40_remember/programs.jsonl",
    "iter_01/50_train_solver/logs/verl.1.log",
    "iter_01/55_export_solver/manifest.json",
]


def test_killed_again_and_again_it_ends_as_if_it_never_had_been(
    finished: Path, tmp_path: Path, selfplay_command: Command, run_selfplay: Run, hashes_of: Callable
) -> None:
    run_dir = tmp_path / "killed"
    for file in KILLED_AT:
        _kill_when(run_dir / file, selfplay_command(run_dir, "--stop-after", "1:evaluate"))
    run_selfplay(run_dir, "--stop-after", "1:evaluate")
    assert hashes_of(run_dir, 1) == hashes_of(finished, 1)


def _kill_when(file: Path, command: list[str]) -> None:
    run_dir = command[command.index("--run-dir") + 1]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 400
    while not file.exists():
        assert driver.poll() is None, driver.stderr.read().decode() if driver.stderr else ""
        assert time.monotonic() < deadline, f"{file} never came"
        time.sleep(0.005)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    deadline = time.monotonic() + 30
    while left := _processes_of(Path(run_dir)):
        assert time.monotonic() < deadline, f"outlived the driver: {left}"
        time.sleep(0.1)


def _processes_of(run_dir: Path) -> list[str]:
    """Command lines that name the run directory, or the session folder of a Ray that it started."""
    configs = [yaml.safe_load(path.read_text()) for path in run_dir.glob("iter_*/*/verl.yaml")]
    names = [str(run_dir), *(config["ray_kwargs"]["ray_init"]["_temp_dir"] for config in configs)]
    lines = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    return [line[:200] for line in lines if any(name in line for name in names)]


def _memory(run_dir: Path, before: int) -> FrozenMemory:
    facts = json.loads((run_dir / "iter_01" / "40_remember" / "manifest.json").read_text())["facts"]
    return FrozenMemory.open(run_dir / "memory.sqlite", facts["skill_space"], facts["dim"], before)
