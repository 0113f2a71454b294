"""A reward function for verl that fails for some rows, and kills the encoder's process in the middle of a step."""

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

import ray

from rdiverse_verl.verl_plugin.embedder import NAME
from reward_fns.math_accuracy import compute_score as graded

LEAVES_ONE, LEAVES_NONE = 0, 3  # data rows, by how many of their four samples are graded
calls = [0, 0]  # of all rows, of that row; verl calls from one process


def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any], **_: Any) -> Any:
    calls[0] += 1
    if calls[0] in (12, 40):
        _kill_encoder()
    calls[1] += extra_info["index"] == LEAVES_ONE
    if extra_info["index"] == LEAVES_NONE or (extra_info["index"] == LEAVES_ONE and calls[1] % 4):
        raise ValueError("a grader that fails")
    return graded(data_source, solution_str, ground_truth, extra_info)


def _kill_encoder() -> None:
    while True:
        with contextlib.suppress(ray.exceptions.RayActorError):  # it may still be coming back from the last time
            os.kill(ray.get(ray.get_actor(NAME).pid.remote()), signal.SIGKILL)
            with Path(os.environ["VERL_FILE_LOGGER_PATH"]).with_name("kills").open("a") as kills:
                kills.write("killed\n")
            return
        time.sleep(0.1)
