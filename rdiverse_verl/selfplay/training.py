"""One training phase: stock verl as a child process, watched, and continued from its own checkpoints."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rdiverse_verl.errors import ServiceError
from rdiverse_verl.selfplay import supervise
from rdiverse_verl.selfplay.journal import write_atomic
from rdiverse_verl.selfplay.settings import Training
from rdiverse_verl.selfplay.training_config import ray_folder
from rdiverse_verl.selfplay.verl_config import Tree, write_verl_config
from rdiverse_verl.selfplay.work import Work

CONFIG = "verl.yaml"
CHECKPOINTS = "checkpoints"
METRICS = "metrics.jsonl"
TRACKER = "latest_checkpointed_iteration.txt"
POLL_S = 0.5

Metrics = dict[str, Any]


def train(work: Work, differences: Tree, training: Training, shown: dict[str, str]) -> list[Metrics]:
    """Run verl until all steps are done; returns each step's metrics and writes them to ``metrics.jsonl``.

    Args:
        shown: metric -> short name, for the progress line.

    Raises:
        ServiceError: verl ended with an error, or one step took longer than ``training.step_timeout_s``.
    """
    write_verl_config(work.folder / CONFIG, differences)
    repair_checkpoints(work.folder / CHECKPOINTS, work.log)
    attempt = len(list(work.log.glob("verl.*.log"))) + 1
    metrics = work.log / f"metrics.{attempt}.jsonl"
    log = work.log / f"verl.{attempt}.log"
    if checkpointed_step(work.folder) < training.steps:
        where = ["--config-path", str(work.folder), "--config-name", "verl"]
        command = [sys.executable, "-m", "verl.trainer.main_ppo", *where]
        shutil.rmtree(ray_folder(work), ignore_errors=True)  # a killed attempt's
        process = supervise.start(command, log, {**_environment(work), "VERL_FILE_LOGGER_PATH": str(metrics)})
        try:
            _watch(process, work, metrics, log, training, shown)
        finally:
            supervise.stop(process)
            shutil.rmtree(ray_folder(work), ignore_errors=True)
    records = all_steps(work.log, training.steps)
    write_atomic(work.folder / METRICS, "".join(json.dumps(record) + "\n" for record in records))
    return [record["data"] for record in records]


def _environment(work: Work) -> dict[str, str]:
    if work.settings.platform == "gpu":
        return dict(os.environ)
    from rdiverse_verl.cpu.overrides import cpu_environment

    # Ray would refuse virtual GPUs where the environment hides the real ones
    inherited = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    return {**inherited, **cpu_environment()}


def checkpointed_step(folder: Path) -> int:
    """The last step whose checkpoint is complete; 0 where there is none."""
    tracker = folder / CHECKPOINTS / TRACKER
    return int(tracker.read_text()) if tracker.is_file() else 0


def repair_checkpoints(checkpoints: Path, logs: Path) -> None:
    """Go back to the last step that is both saved whole and logged; drop what an interrupted save left.

    verl writes a step's data.pt last but one and its tracker last, and logs the step's metrics after that.
    """
    tracker = checkpoints / TRACKER
    if not checkpoints.is_dir():
        return
    logged = _logged(logs)
    written = tracker.read_bytes().strip() if tracker.is_file() else b"0"
    whole = int(written) if written.isdigit() else None  # None: killed in that write, so every data.pt is whole
    saved = [_step(folder) for folder in checkpoints.glob("global_step_*") if (folder / "data.pt").is_file()]
    usable = [step for step in saved if (whole is None or step <= whole) and set(range(1, step + 1)) <= logged.keys()]
    last = max(usable, default=0)
    write_atomic(tracker, str(last))
    for folder in checkpoints.glob("global_step_*"):
        if _step(folder) > last:
            shutil.rmtree(folder)
    if last == 0:
        tracker.unlink()


def _step(folder: Path) -> int:
    return int(folder.name.removeprefix("global_step_"))


def _watch(
    process: subprocess.Popen[bytes],
    work: Work,
    metrics: Path,
    log: Path,
    training: Training,
    shown: dict[str, str],
) -> None:
    done, since = checkpointed_step(work.folder), time.monotonic()
    started, first = since, done
    figures = ""
    while process.poll() is None:
        for record in _records(metrics):
            if record["step"] > done:
                done, since = record["step"], time.monotonic()
                figures = "  ".join(
                    f"{name} {record['data'][key]:.3g}" for key, name in shown.items() if key in record["data"]
                )
        if time.monotonic() - since > training.step_timeout_s:
            limit = f"step_timeout_s={training.step_timeout_s:g}"
            raise ServiceError(f"{work.phase.label}: step {done + 1} has taken longer than {limit} allows; see {log}")
        left = f", {(training.steps - done) * (since - started) / (done - first):.0f} s left" if done > first else ""
        work.report(f"step {done}/{training.steps}{left}  {figures}".rstrip())
        time.sleep(POLL_S)
    if process.returncode:
        raise ServiceError(f"{work.phase.label}: verl ended with code {process.returncode}: {explain(log)}")


def _figures(data: Metrics, shown: dict[str, str]) -> str:
    return "  ".join(f"{name} {data[key]:.3g}" for key, name in shown.items() if key in data)


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """The complete lines of a metrics file that may still be written to."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
        if not line.endswith("\n"):
            return
        try:
            yield json.loads(line)
        except ValueError:
            return  # what a power cut left: from here on nothing counts as logged, and is done again


def all_steps(logs: Path, steps: int) -> list[dict[str, Any]]:
    """Steps 1..n over all attempts; raises ServiceError if one is missing."""
    found = _logged(logs)
    missing = [step for step in range(1, steps + 1) if step not in found]
    if missing:
        raise ServiceError(f"verl ended without metrics for step(s) {missing}; its logs are in {logs}")
    return [found[step] for step in range(1, steps + 1)]


def _logged(logs: Path) -> dict[int, dict[str, Any]]:
    """Each step's record; a later attempt repeats what was not checkpointed, and counts."""
    found: dict[int, dict[str, Any]] = {}
    for path in sorted(logs.glob("metrics.*.jsonl"), key=lambda path: int(path.suffixes[0][1:])):
        found.update({record["step"]: record for record in _records(path)})
    return found


def explain(log: Path) -> str:
    """The line of a verl log that says most about why it ended: our own error if there is one, else the last error."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    ours = [line for line in lines if re.search(r"rdiverse_verl\.errors\.\w+: ", line)]
    errors = [line for line in lines if re.search(r"\b\w*(Error|Exception)\b: ", line)]
    line = (ours or errors or [line for line in lines if line.strip()] or ["nothing was logged"])[-1]
    return f"{re.sub(r'^.*?errors[.]', '', line.strip()) if ours else line.strip()} ({log})"
