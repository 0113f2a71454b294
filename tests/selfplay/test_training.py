"""What is done around a verl run: picking its checkpoint up, joining its metrics, and saying why it ended."""

import json
from pathlib import Path

import pytest

from rdiverse_verl.errors import ServiceError
from rdiverse_verl.selfplay import training


def checkpoint(folder: Path, step: int, whole: bool = True) -> None:
    path = folder / training.CHECKPOINTS / f"global_step_{step}"
    (path / "actor").mkdir(parents=True)
    if whole:
        (path / "data.pt").write_bytes(b"x")


def tracker(folder: Path) -> Path:
    return folder / training.CHECKPOINTS / training.TRACKER


def steps_left(folder: Path) -> set[str]:
    return {path.name for path in (folder / training.CHECKPOINTS).glob("global_step_*")}


def metrics(folder: Path, attempt: int, steps: dict[int, float], tail: str = "") -> None:
    lines = "".join(json.dumps({"step": step, "data": {"reward": value}}) + "\n" for step, value in steps.items())
    (folder / f"metrics.{attempt}.jsonl").write_text(lines + tail)


def repair(folder: Path) -> None:
    training.repair_checkpoints(folder / training.CHECKPOINTS, folder)


def test_a_save_that_was_interrupted_is_dropped(tmp_path: Path) -> None:
    metrics(tmp_path, 1, {1: 0.1})
    checkpoint(tmp_path, 1)
    checkpoint(tmp_path, 2, whole=False)
    tracker(tmp_path).write_text("1")
    repair(tmp_path)
    assert steps_left(tmp_path) == {"global_step_1"}
    assert training.checkpointed_step(tmp_path) == 1


@pytest.mark.parametrize("content", ["", "\0"])
def test_a_tracker_cut_off_while_it_was_written_names_the_last_whole_save(tmp_path: Path, content: str) -> None:
    metrics(tmp_path, 1, {1: 0.1, 2: 0.2})
    checkpoint(tmp_path, 1)
    checkpoint(tmp_path, 2)
    checkpoint(tmp_path, 3, whole=False)
    tracker(tmp_path).write_text(content)
    repair(tmp_path)
    assert training.checkpointed_step(tmp_path) == 2
    assert steps_left(tmp_path) == {"global_step_1", "global_step_2"}


@pytest.mark.parametrize(("logged", "last"), [({}, 0), ({1: 0.1}, 1)])
def test_a_step_saved_but_not_logged_is_done_again(tmp_path: Path, logged: dict[int, float], last: int) -> None:
    metrics(tmp_path, 1, logged, tail='{"step": 2, "da')
    checkpoint(tmp_path, 1)
    checkpoint(tmp_path, 2)
    tracker(tmp_path).write_text("2")
    repair(tmp_path)
    assert training.checkpointed_step(tmp_path) == last
    assert steps_left(tmp_path) == {f"global_step_{step}" for step in logged}


def test_without_a_tracker_nothing_was_saved(tmp_path: Path) -> None:
    metrics(tmp_path, 1, {1: 0.1})
    checkpoint(tmp_path, 1)
    repair(tmp_path)
    assert training.checkpointed_step(tmp_path) == 0
    assert steps_left(tmp_path) == set()


def test_later_attempts_win_and_a_cut_off_line_is_not_read(tmp_path: Path) -> None:
    metrics(tmp_path, 1, {1: 0.1, 2: 0.2}, tail='{"step": 3, "da')
    metrics(tmp_path, 2, {2: 0.25, 3: 0.3})
    found = training.all_steps(tmp_path, 3)
    assert [record["data"]["reward"] for record in found] == [0.1, 0.25, 0.3]


def test_a_run_that_ended_early_without_an_error_is_one(tmp_path: Path) -> None:
    metrics(tmp_path, 1, {1: 0.1})
    with pytest.raises(ServiceError, match=r"without metrics for step\(s\) \[2, 3\]"):
        training.all_steps(tmp_path, 3)


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("a\nValueError: first\nthen\nKeyError: 'x'\nshutting down\n", "KeyError: 'x'"),
        (
            "RayTaskError: wrapped\n(TaskRunner pid=3) rdiverse_verl.errors.ServiceError: the Coder is gone\n"
            "ActorDiedError: later\n",
            "ServiceError: the Coder is gone",
        ),
        ("only\nlines\n\n", "lines"),
        ("", "nothing was logged"),
    ],
)
def test_the_line_that_says_most(tmp_path: Path, log: str, line: str) -> None:
    path = tmp_path / "verl.log"
    path.write_text(log)
    assert training.explain(path) == f"{line} ({path})"
