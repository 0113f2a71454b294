"""What DRA-GRPO and ExTra together cost a step of a real verl run, against GRPO in the same setup on the same machine.

    python benchmarks/step_exposed.py [--steps 12] [--rounds 2]

Runs of recipes/tiny, one after the other: GRPO, then both methods with the hash encoder and with MiniLM. Exposed
seconds are those in which the step waits for the methods and nothing else goes on. The rest of the difference is the
encoder's share of the CPUs: MiniLM has thirty times the parameters of the tiny policy and no device of its own here.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

RUN = Path(__file__).parents[1] / "recipes" / "tiny" / "run.sh"
BOTH = ["algorithm.adv_estimator=dra_extra_grpo"]
RUNS = {
    "grpo": ["grpo"],
    "dra + extra, hash encoder": ["extra", *BOTH, "+rdiverse.embedding.encoder=hash"],
    "dra + extra, MiniLM": ["extra", *BOTH],
}
PARTS = ("gen", "old_log_prob", "adv", "update_actor")
WARM = 3  # steps before every part has been used once


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    steps = {name: [] for name in RUNS}
    for _ in range(given.rounds):
        for name, arguments in RUNS.items():
            steps[name] += measure(arguments, given.steps)
    base_s = median(steps["grpo"], "timing_s/step")
    for name, rows in steps.items():
        step_s, exposed_s = median(rows, "timing_s/step"), median(rows, "extra/exposed_s")
        print(f"{name}: step {step_s:.2f} s = {step_s / base_s:.2f} x grpo", end="; ")
        print(f"exposed {exposed_s * 1e3:.0f} ms = {exposed_s / step_s:.1%} of the step", end="; ")
        print(", ".join(f"{part} {median(rows, f'timing_s/{part}'):.2f} s" for part in PARTS))


def measure(arguments: list[str], count: int) -> list[dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        overrides = [f"trainer.total_training_steps={count}", "trainer.rollout_data_dir=null"]
        subprocess.run(
            ["bash", str(RUN), *arguments, *overrides],
            env={**os.environ, "RUN_DIR": folder},
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        lines = Path(folder, "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["data"] for line in lines][WARM:]


def median(rows: list[dict[str, float]], key: str) -> float:
    return statistics.median(row.get(key, 0.0) for row in rows)


if __name__ == "__main__":
    main()
