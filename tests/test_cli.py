"""The command: what is wrong is one line on standard error, exit code 2, within seconds and before any work."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rdiverse_verl.dataset import make_row, write_rows

RECIPE = Path(__file__).parents[1] / "recipes" / "tiny" / "selfplay.yaml"


def rdiverse(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rdiverse_verl", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("solver.stepz=3", "unknown key 'solver.stepz'; did you mean 'steps'?"),
        ("base_model=/no/such/model", "base_model: there is no folder /no/such/model"),
        ("base_model=pkg://rdiverse_verl.tiny/nothing", "does not exist"),
        ("evaluate.data=/no/such.parquet", "/no/such.parquet: no such file"),
        ("solver.prompts_per_step=33", "prompts_per_step=33 is no multiple of prompts_per_update=32"),
        ("solver.verl.trainer.total_step=3", "solver.verl: verl has no key 'trainer.total_step'"),
        ("solver.verl.trainer=3", "solver.verl: 'trainer' is 3, but verl has keys below it"),
        ("solver.verl.actor_rollout_ref.rolloutX.n=3", "verl has no key 'actor_rollout_ref.rolloutX'"),
        ("devices=3", "= 64 is no multiple of devices=3"),
    ],
)
def test_bad_settings_are_one_line_and_leave_nothing(tmp_path: Path, override: str, message: str) -> None:
    run_dir = tmp_path / "run"
    done = rdiverse("selfplay", str(RECIPE), override, "--run-dir", str(run_dir))
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not run_dir.exists()


def test_a_folder_that_is_no_model_and_one_without_chat_template(tmp_path: Path) -> None:
    done = rdiverse("selfplay", str(RECIPE), f"base_model={tmp_path}", "--run-dir", str(tmp_path / "run"))
    assert f"base_model: {tmp_path} is no Hugging Face model folder (no config.json)" in done.stderr
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "tokenizer_config.json").write_text("{}")
    done = rdiverse("selfplay", str(RECIPE), f"base_model={tmp_path}", "--run-dir", str(tmp_path / "run"))
    assert f"base_model: the tokenizer in {tmp_path} has no chat template" in done.stderr


def test_a_folder_that_holds_no_run_and_a_phase_that_does_not_exist(tmp_path: Path) -> None:
    done = rdiverse("status", str(tmp_path))
    assert (done.returncode, done.stderr) == (2, f"rdiverse: {tmp_path} holds no self-play run (no config.yaml)\n")
    done = rdiverse("selfplay", str(RECIPE), "--run-dir", str(tmp_path / "run"), "--stop-after", "1:labels")
    assert done.returncode == 2
    assert "no phase '1:labels'" in done.stderr


def test_grade_keeps_the_order(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(
        json.dumps({"prediction": "1/2", "gold": "0.5"}) + "\n" + json.dumps({"prediction": "3", "gold": "4"}) + "\n"
    )
    done = rdiverse("grade", "--jsonl", str(pairs))
    assert [json.loads(line)["verdict"] for line in done.stdout.splitlines()] == ["correct", "wrong"]


def test_data_verify_and_leak(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    prompt = [{"role": "user", "content": "What is 3 + 4 when both are added twice?"}]
    write_rows(file, [make_row(data_source="test", prompt=prompt, ground_truth="14", index=0, split="train")])
    assert rdiverse("data", "verify", str(file)).returncode == 0
    leak = rdiverse("data", "leak", str(file), str(file))
    assert leak.returncode == 0
    assert "1" in leak.stdout


def test_the_package_imports_fast_and_without_torch() -> None:
    code = (
        "import sys, time; t = time.perf_counter(); import rdiverse_verl.cli, rdiverse_verl.grading; "
        "print(time.perf_counter() - t, any(name in sys.modules for name in ('torch', 'verl', 'ray', 'sympy')))"
    )
    best = 9.0
    for _ in range(3):  # the machine may be busy
        seconds, heavy = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split()
        assert heavy == "False"
        best = min(best, float(seconds))
        time.sleep(0.2)
    assert best < 0.5


@pytest.mark.slow
def test_doctor_finds_this_machine_ready() -> None:
    done = rdiverse("doctor", "--json")
    findings = json.loads(done.stdout)
    assert findings["problems"] == []
    assert done.returncode == 0
    assert findings["plugins_missing"] == []
    assert findings["ray_starts"] is True
