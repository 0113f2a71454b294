"""Workers that hang, die or eat memory; owners that fork, thread, loop or are killed. Nothing here is mocked."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rdiverse_verl.errors import ConfigError, ServiceError
from rdiverse_verl.grading import Limits, agrade, configure, equivalent, grade, grading_counters, matching, shut_down
from rdiverse_verl.grading.pool import Failed, Pool

NEEDS_WORKER = (r"\boxed{\sin^2 x}", r"1-\cos^2 x")


def fresh_pairs(count):
    """Pairs that only a worker can judge, all different."""
    return [(f"\\boxed{{\\sin^2 x+{k}}}", f"{k + 1}-\\cos^2 x") for k in range(count)]


def wait_until(condition, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def test_a_hung_worker_is_killed_and_replaced(pool, hang, alive):
    before = set(pool.pids())
    begun = time.monotonic()
    assert grade(f"\\boxed{{{hang}}}", "5").kind == "timeout"
    assert time.monotonic() - begun < pool.limits.seconds + 0.5
    gone = before - set(pool.pids())
    assert len(gone) == 1
    assert wait_until(lambda: not any(map(alive, gone)))
    assert grade(*NEEDS_WORKER).kind == "correct"
    assert pool.replaced == 1


def test_after_four_hangs_and_a_kill_all_honest_answers_are_right(pool, hang, alive):
    with ThreadPoolExecutor(4) as threads:
        hung = threads.map(lambda k: grade(f"\\boxed{{{hang}+{k}}}", "5"), range(4))
    assert [verdict.kind for verdict in hung] == ["timeout"] * 4
    grade(*NEEDS_WORKER)
    victim = pool.pids()[-1]
    os.kill(victim, signal.SIGKILL)
    assert wait_until(lambda: not alive(victim))
    with ThreadPoolExecutor(4) as threads:
        verdicts = list(threads.map(lambda pair: grade(*pair), fresh_pairs(100)))
    assert {verdict.kind for verdict in verdicts} == {"correct"}
    assert {verdict.path for verdict in verdicts} == {"pool"}
    assert sum(map(alive, pool.pids())) <= 3


def test_a_stopped_worker_costs_one_limit_and_no_more(pool):
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda pair: grade(*pair), fresh_pairs(4)))
    stopped = pool.pids()[-1]  # the next to be used
    os.kill(stopped, signal.SIGSTOP)
    kinds = [grade(f"\\boxed{{\\sin x+{k}}}", f"\\cos x+{k}").kind for k in range(6)]
    assert kinds == ["timeout"] + ["wrong"] * 5
    assert stopped not in pool.pids()


def test_a_worker_killed_at_work_is_not_the_answers_fault(pool):
    configure(Limits(seconds=5.0, workers=1))
    matching.forget()
    from rdiverse_verl.grading import service

    equivalent(r"\sin 1", "2")
    slow = "+".join(f"\\sin({k}^x)" for k in range(2, 60))
    with ThreadPoolExecutor(1) as threads:
        judged = threads.submit(grade, f"\\boxed{{{slow}}}", r"\cos x")
        assert wait_until(lambda: not service.pool()._slots.qsize(), 2.0)
        nursery = service.pool()._nursery.process.pid
        children = Path(f"/proc/{nursery}/task/{nursery}/children").read_text().split()
        os.kill(int(children[-1]), signal.SIGKILL)
        assert judged.result().kind == "wrong"


def test_a_killed_nursery_is_replaced_with_its_workers(pool, alive):
    nursery, worker = pool.pids()[:2]
    os.kill(nursery, signal.SIGKILL)
    assert wait_until(lambda: not alive(worker))  # workers die with it
    assert {grade(*pair).kind for pair in fresh_pairs(5)} == {"correct"}


def test_memory_is_bounded_and_running_out_of_it_is_an_error(alive):
    matching.forget()
    pool = Pool(Limits(seconds=20, mebibytes=512, workers=1))
    try:
        with pytest.raises(Failed) as failed:
            pool.compare(r"\gcd (2^{9999*9999*99},3)", r"\sin 1")
        assert failed.value.kind == "error"
        assert pool.compare(r"\sin ^2 x", r"1-\cos ^2 x").name == "SAME"
    finally:
        pool.close()


def test_an_answer_that_hung_is_not_tried_again_and_its_gold_is_not_blamed(pool, hang):
    assert grade(f"\\boxed{{{hang}}}", r"\sin 1").kind == "timeout"
    begun = time.monotonic()
    assert grade(f"\\boxed{{{hang}}}", r"\sin 2").kind == "timeout"
    assert time.monotonic() - begun < 0.1
    assert grade(r"\boxed{\cos(\pi/2-1)}", r"\sin 1").kind == "correct"


def test_the_fast_path_never_starts_a_pool_or_loads_sympy():
    program = """
import sys
from rdiverse_verl.grading import grade, service, vote
assert grade(r"\\boxed{\\frac12}", "0.5").correct
assert grade(r"\\boxed{2\\sqrt3}", r"\\sqrt{12}").correct
assert grade(r"\\boxed{(1,2)}", "(1,3)").kind == "wrong"
assert vote(["1", "1.0", "2"]).share == 2 / 3
heavy = {"sympy", "math_verify", "torch", "ray", "verl"} & set(sys.modules)
assert not heavy, heavy
assert not service.pool().pids()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_importing_is_quick():
    program = "import time; t = time.perf_counter(); import rdiverse_verl.grading; print(time.perf_counter() - t)"
    seconds = [float(subprocess.check_output([sys.executable, "-c", program])) for _ in range(3)]
    assert min(seconds) < 0.3


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, None])
def test_the_pool_ends_with_its_owner_even_when_a_worker_hangs(end, hang, alive):
    program = f"""
import threading, time
from rdiverse_verl.grading import Limits, configure, equivalent, service
configure(Limits(seconds=30, workers=2))
equivalent(r"\\sin 1", "2")
threading.Thread(target=equivalent, args=({hang!r}, "5"), daemon=True).start()
time.sleep(0.3)
nursery = service.pool()._nursery.process.pid
workers = open(f"/proc/{{nursery}}/task/{{nursery}}/children").read().split()
print(nursery, *workers, flush=True)
{"time.sleep(60)" if end else "import os; os._exit(0)"}
"""
    owner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    pids = [int(pid) for pid in owner.stdout.readline().split()]
    assert len(pids) >= 2
    if end:
        assert all(map(alive, pids))
        owner.send_signal(end)
    owner.wait(timeout=10)
    owner.stdout.close()
    assert wait_until(lambda: not any(map(alive, pids)), 5.0)


def test_a_normal_exit_waits_for_nothing():
    program = r"""
from rdiverse_verl.grading import equivalent
assert equivalent(r"\sin^2 x", r"1-\cos^2 x")
"""
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_child_process_makes_a_pool_of_its_own(method, pool, alive):
    grade(*NEEDS_WORKER)
    ours = pool.pids()
    with multiprocessing.get_context(method).Pool(1) as child:
        assert {verdict.kind for verdict in child.starmap(grade, fresh_pairs(5))} == {"correct"}
    assert all(map(alive, ours))
    assert pool.pids() == ours
    assert {grade(*pair).kind for pair in fresh_pairs(10)} == {"correct"}


PAIRS = [(f"\\boxed{{\\frac{{{k}}}{{3}}}}", f"\\frac{{{k}}}{{3}}") for k in range(25)] + fresh_pairs(25)


def test_threads_executors_loops_and_processes_give_the_same_verdicts(pool):
    configure(Limits(seconds=5.0, workers=2))
    expected = [grade(*pair) for pair in PAIRS]
    assert {verdict.kind for verdict in expected} == {"correct"}

    in_thread = []
    thread = threading.Thread(target=lambda: in_thread.extend(grade(*pair) for pair in PAIRS))
    thread.start()
    thread.join()

    async def in_executor():
        loop = asyncio.get_running_loop()
        return await asyncio.gather(*(loop.run_in_executor(None, grade, *pair) for pair in PAIRS))

    async def in_loop():
        return await asyncio.gather(*(agrade(*pair) for pair in PAIRS))

    for judge in (in_executor, in_loop):
        matching.forget()
        assert asyncio.run(judge()) == expected
    with multiprocessing.get_context("spawn").Pool(2) as processes:
        assert processes.starmap(grade, PAIRS) == expected
    assert in_thread == expected


def test_the_event_loop_stays_free_while_workers_hang(pool, hang):
    async def scenario():
        ticks = 0
        hung = [asyncio.create_task(agrade(f"\\boxed{{{hang}+{k}}}", "5")) for k in range(4)]
        while not all(task.done() for task in hung):
            begun = time.monotonic()
            await asyncio.sleep(0.01)
            assert time.monotonic() - begun < 0.4
            ticks += 1
        return ticks, [task.result().kind for task in hung]

    ticks, kinds = asyncio.run(scenario())
    assert ticks > 20
    assert kinds == ["timeout"] * 4


def test_counters(pool, hang):
    from rdiverse_verl.grading import counters

    counters.reset()
    grade(r"\boxed{1}", "1")
    grade(r"\boxed{1}", "2")
    grade("no box", "2")
    grade(r"\boxed{1}", " ")
    grade(f"\\boxed{{{hang}}}", "5")
    counted = grading_counters()
    assert [counted[f"grader/{kind}"] for kind in ("correct", "wrong", "unparsable", "error", "timeout")] == [1] * 5
    assert counted["grader/path/pool"] == counted["grader/workers_replaced"] == 1
    assert counted["grader/latency_p50_s"] < 0.05
    assert 3.0 <= counted["grader/latency_max_s"] < 3.5


def test_a_gold_that_is_no_text_is_a_clear_error():
    for gold in (34, None, ["34"], 34.0):
        with pytest.raises(TypeError, match="gold must be text"):
            grade(r"\boxed{34}", gold)


def test_limits_are_checked_and_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("RDIVERSE_GRADING_SECONDS", "3.5")
    monkeypatch.setenv("RDIVERSE_GRADING_WORKERS", "4")
    assert Limits.from_environment() == Limits(seconds=3.5, workers=4)
    monkeypatch.setenv("RDIVERSE_GRADING_WORKERS", "many")
    with pytest.raises(ConfigError, match="RDIVERSE_GRADING"):
        Limits.from_environment()
    with pytest.raises(ConfigError):
        Limits(workers=0)


def test_a_pool_that_cannot_start_says_so(monkeypatch, tmp_path):
    (tmp_path / "latex2sympy2_extended.py").write_text("raise ImportError('not here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    pool = Pool(Limits(workers=1))
    for _ in range(2):  # and the slot is not lost
        with pytest.raises(ServiceError, match="math-verify"):
            pool.compare(r"\sin 1", r"\cos 1")
    pool.close()


@pytest.mark.slow
def test_ray_workers_each_have_a_pool_that_ends_with_them(tmp_path, alive):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=f"/tmp/rg{os.getpid()}")
    try:

        @ray.remote(num_cpus=0.5)
        class Judge:
            async def judge(self, pair):
                return (await agrade(*pair)).kind

            def pids(self):
                from rdiverse_verl.grading import service

                return service.pool().pids()

        judges = [Judge.remote() for _ in range(2)]
        kinds = ray.get([judges[k % 2].judge.remote(pair) for k, pair in enumerate(fresh_pairs(20))])
        pids = [pid for judge in judges for pid in ray.get(judge.pids.remote())]
        assert kinds == ["correct"] * 20
        assert all(map(alive, pids))
        for judge in judges:
            ray.kill(judge)
        assert wait_until(lambda: not any(map(alive, pids)), 10.0)
    finally:
        ray.shutdown()


def test_shutting_down_twice_and_grading_again_works(pool):
    grade(*NEEDS_WORKER)
    shut_down()
    shut_down()
    matching.forget()
    assert grade(*NEEDS_WORKER).kind == "correct"
