"""Stock verl as a child process, on the tiny model: what the tests of this folder start and read back."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rdiverse_verl.cpu.overrides import cpu_environment, cpu_overrides, hydra_arguments

DEADLINE_S = 300


@dataclass(frozen=True)
class Run:
    """A finished verl run."""

    folder: Path
    code: int
    log: str
    seconds: float

    def metrics(self) -> list[dict[str, Any]]:
        return [json.loads(line)["data"] for line in (self.folder / "metrics.jsonl").read_text().splitlines()]

    def rows(self, step: int) -> list[dict[str, Any]]:
        """The rows of a step as verl dumped them, without padding."""
        path = self.folder / "rollouts" / f"{step}.jsonl"
        return [row for row in map(json.loads, path.read_text().splitlines()) if not row["uid"].startswith("pad")]


@pytest.fixture(scope="session")
def base_model() -> Path:
    from rdiverse_verl.tiny import base_model_path

    return base_model_path()


@pytest.fixture(scope="session")
def verl_run():
    """``verl_run(folder, *overrides)``: run verl on the CPU until it ends, or kill it at the deadline."""

    def run(folder: Path, *overrides: str, solver_replicas: int = 0) -> Run:
        folder.mkdir(parents=True, exist_ok=True)
        platform = hydra_arguments(cpu_overrides(1, solver_replicas))
        command = [sys.executable, "-m", "verl.trainer.main_ppo", *platform, *_common(folder), *overrides]
        environment = {
            **os.environ,
            **cpu_environment(),
            "HF_HUB_OFFLINE": "1",
            "VERL_FILE_LOGGER_PATH": str(folder / "metrics.jsonl"),
        }
        started = time.monotonic()
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
            )
            try:
                code = process.wait(DEADLINE_S)
            finally:
                _end(process)
        return Run(folder, code, (folder / "log").read_text(errors="replace"), time.monotonic() - started)

    return run


@pytest.fixture(scope="session")
def coder_url(base_model: Path) -> Iterator[str]:
    """The tiny model served as the Coder; its name there is ``coder``."""
    command = [sys.executable, "-m", "rdiverse_verl.cpu.serve", "--model", str(base_model)]
    process = subprocess.Popen(
        [*command, "--served-model-name", "coder"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **cpu_environment()},
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        yield next(line.split()[-1] for line in process.stdout if line.startswith("listening on"))
    finally:
        _end(process)


def _common(folder: Path) -> list[str]:
    return [
        "algorithm.adv_estimator=grpo",
        "data.train_batch_size=8",
        "data.max_prompt_length=64",
        "data.max_response_length=64",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16",
        "actor_rollout_ref.actor.use_kl_loss=False",
        "actor_rollout_ref.actor.optim.lr=1e-3",
        "actor_rollout_ref.actor.checkpoint.save_contents=[model,optimizer,extra,hf_model]",
        "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=32",
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=32",
        "actor_rollout_ref.rollout.n=4",
        "actor_rollout_ref.rollout.agent.default_agent_loop=rdiverse_single_turn",
        "trainer.total_training_steps=2",
        "trainer.total_epochs=2",
        "trainer.save_freq=2",
        "trainer.test_freq=-1",
        "trainer.val_before_train=False",
        "trainer.logger=[file]",
        f"trainer.default_local_dir={folder / 'checkpoints'}",
        f"trainer.rollout_data_dir={folder / 'rollouts'}",
        f"hydra.run.dir={folder}",
        "hydra.output_subdir=null",
    ]


def _end(process: subprocess.Popen[Any]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
