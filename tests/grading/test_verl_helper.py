"""The faults this package exists for, shown on verl's own math-verify helper: it fails the tests that ours passes."""

import subprocess
import sys

import pytest

from rdiverse_verl.grading import grade

HONEST = [(f"\\boxed{{\\frac{{{k}}}{{7}}}}", f"\\frac{{{k}}}{{7}}") for k in range(1, 101)]

# Prints how many of 100 honest answers verl's helper grades right after the fault.
PROGRAM = r"""
import contextlib, os, signal, time
from verl.utils.reward_score import math_verify as helper
HONEST = {honest!r}
assert helper.compute_score(*HONEST[0], timeout=100) == 1.0
{fault}
print("right:", sum(helper.compute_score(*pair, timeout={timeout}) for pair in HONEST))
for process in list(helper._pool._processes or {{}}):
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
os._exit(0)
"""
# A comparison that is stuck in C: the caller gives up on it, its worker stays stuck.
HANGS = r"""
hung = [helper._get_pool().submit(signal.pause) for _ in range(4)]
assert not any(future.done() for future in hung)
"""
KILL = "os.kill(next(iter(helper._pool._processes)), signal.SIGKILL); time.sleep(2)  # until its pool has noticed"


def right_by_verl(fault, timeout):
    pytest.importorskip("verl")
    program = PROGRAM.format(honest=HONEST, fault=fault, timeout=timeout)
    output = subprocess.run(
        [sys.executable, "-c", program], check=True, timeout=300, stdout=subprocess.PIPE, text=True
    ).stdout
    return float(output.rpartition("right:")[2])


@pytest.mark.slow
def test_four_hung_answers_starve_verl_of_every_later_one(hang, pool):
    assert right_by_verl(HANGS, 0.1) == 0
    assert [grade(f"\\boxed{{{hang}}}", f"{k}").kind for k in range(4)] == ["timeout"] * 4
    assert all(grade(*pair).correct for pair in HONEST)


@pytest.mark.slow
def test_one_killed_worker_breaks_verls_pool_for_good():
    assert right_by_verl(KILL, 10) == 0
    assert all(grade(*pair).correct for pair in HONEST)
