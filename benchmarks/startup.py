"""Where the time of starting one training run goes, process by process.

Runs four GRPO steps of 64 samples on the CPU and watches the process tree. For each process: when it appeared, the CPU
seconds it has used by the end of the first step, and its memory. On idle cores the start cannot be shorter than the CPU
seconds of all processes divided by the cores.

    python benchmarks/startup.py [--model DIR] [--gpus N] [key=value ...]
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from rdiverse_verl.cpu.overrides import Tree, cpu_environment, cpu_overrides, hydra_arguments
from rdiverse_verl.tiny import base_model_path

LANDMARKS = {
    "verl.trainer.main_ppo imported": r"validate_config\] All",
    "Ray is up": r"Started a local Ray instance",
    "trainer imported, data queue up": r"Using dataset class",
    "model trained here is loaded": r"actor and ref model engine initialized",
    "rollout servers answer": r"LLMServerManager:",
    "ready to train": r"Training Progress:   0%",
    "first step done": r"step:1 ",
    "second step done": r"step:2 ",
}
FIRST_STEP = "first step done"
REWARD = """
def compute_score(solution_str, **kwargs):
    right = float(len(solution_str) % 2)
    return {"score": right, "acc": right, "parsed": 1.0}
"""


@dataclass
class Seen:
    """One process: its name, seconds after the start when it appeared, CPU seconds so far, resident MiB."""

    name: str
    appeared: float
    cpu: float = 0.0
    mib: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=base_model_path())
    parser.add_argument(
        "--gpus", type=int, default=1, help="virtual GPUs, one training rank and one rollout replica each"
    )
    parser.add_argument("overrides", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        landmarks, processes, steps = watch(command(arguments, Path(folder)), Path(folder))
    print_report(landmarks, processes, steps)


def command(arguments: argparse.Namespace, folder: Path) -> list[str]:
    data, reward = folder / "train.parquet", folder / "reward.py"
    rows = [
        {
            "data_source": "sums",
            "prompt": [{"role": "user", "content": f"{n} + {n + 1} = ?"}],
            "reward_model": {"style": "rule", "ground_truth": str(2 * n + 1)},
            "extra_info": {"index": n},
        }
        for n in range(32)
    ]
    pq.write_table(pa.Table.from_pylist(rows), data)
    reward.write_text(REWARD)
    tree: list[Tree] = [
        cpu_overrides(arguments.gpus),
        {
            "algorithm": {"adv_estimator": "grpo"},
            "data": {"train_files": str(data), "val_files": str(data), "train_batch_size": 16},
            "actor_rollout_ref": {
                "model": {"path": str(arguments.model)},
                "actor": {"ppo_mini_batch_size": 16, "ppo_micro_batch_size_per_gpu": 64},
                "rollout": {
                    "n": 4,
                    "response_length": 32,
                    "log_prob_micro_batch_size_per_gpu": 64,
                    "agent": {"default_agent_loop": "rdiverse_single_turn"},
                },
            },
            "reward": {"custom_reward_function": {"path": str(reward)}},
            "trainer": {"total_training_steps": 4, "val_before_train": False, "resume_mode": "disable"},
        },
        {"trainer": {"logger": ["console", "file"], "default_local_dir": str(folder / "checkpoints")}},
        {"trainer": {"v1": {"trainer_mode": "rdiverse_solver"}}},
    ]
    hydra = [argument for part in tree for argument in hydra_arguments(part)]
    return [sys.executable, "-m", "verl.trainer.main_ppo", *hydra, *arguments.overrides]


def watch(command: list[str], folder: Path) -> tuple[dict[str, float], dict[int, Seen], list[dict[str, float]]]:
    """Run the command; returns each landmark's time, the processes as of the first step's end, the steps' metrics."""
    log, metrics = folder / "log", folder / "metrics.jsonl"
    environment = {**os.environ, **cpu_environment(), "VERL_FILE_LOGGER_PATH": str(metrics), "PYTHONUNBUFFERED": "1"}
    landmarks: dict[str, float] = {}
    processes: dict[int, Seen] = {}
    with log.open("wb") as handle:
        run = psutil.Popen(command, stdout=handle, stderr=subprocess.STDOUT, env=environment, cwd=folder)
    start = time.monotonic()
    while run.poll() is None:
        text, now = log.read_text(errors="replace"), time.monotonic() - start
        for name, pattern in LANDMARKS.items():
            if name not in landmarks and re.search(pattern, text):
                landmarks[name] = now
        if FIRST_STEP not in landmarks:
            _look(run, processes, now)
        time.sleep(0.25)
    if run.returncode:
        raise SystemExit(f"the run ended with code {run.returncode}:\n{log.read_text(errors='replace')[-4000:]}")
    return landmarks, processes, [json.loads(line)["data"] for line in metrics.read_text().splitlines()]


def _look(run: psutil.Popen, processes: dict[int, Seen], now: float) -> None:
    for process in [run, *run.children(recursive=True)]:
        try:
            with process.oneshot():
                name, times, memory = _name(process.cmdline()), process.cpu_times(), process.memory_info()
        except psutil.NoSuchProcess:
            continue
        seen = processes.setdefault(process.pid, Seen(name, now))
        seen.name, seen.cpu, seen.mib = name, times.user + times.system, memory.rss / 2**20


def _name(cmdline: list[str]) -> str:
    words = " ".join(cmdline)
    if "main_ppo" in words:
        return "driver"
    if "fork_server" in words:
        return "fork server"
    if words.startswith("ray::"):
        return words.split("(")[0].split()[0]
    return next((Path(word).name for word in cmdline if re.search(r"gcs_server|raylet|\.py$", word)), words[:40])


def print_report(landmarks: dict[str, float], processes: dict[int, Seen], steps: list[dict[str, float]]) -> None:
    print(f"{'landmark':40}{'at s':>8}")
    for name, at in landmarks.items():
        print(f"{name:40}{at:8.1f}")
    print(f"\n{'process':40}{'from s':>8}{'CPU s':>8}{'MiB':>8}")
    for seen in sorted(processes.values(), key=lambda seen: seen.appeared):
        print(f"{seen.name:40}{seen.appeared:8.1f}{seen.cpu:8.1f}{seen.mib:8.0f}")
    total = sum(seen.cpu for seen in processes.values())
    print(f"\n{total:.0f} CPU s until the first step's end: at least {total / 2:.0f} s on two idle cores")
    for number, step in enumerate(steps, 1):
        parts = ", ".join(
            f"{key.removeprefix('timing_s/')} {step[key]:.2f}" for key in step if key.startswith("timing_s/")
        )
        print(f"step {number}: {parts}")


if __name__ == "__main__":
    main()
