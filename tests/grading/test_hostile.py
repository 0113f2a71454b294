"""Whatever the model wrote, a verdict comes in time, and nobody else's verdict changes."""

import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rdiverse_verl.grading import Limits, configure, equivalent, grade, matching, service, shut_down

GOLDS = ["1", "5", r"\sqrt[3]{5}+1", r"\{1,2\}", r"x^2+\sin x"]
HONEST = [(r"\sin^2 x", r"1-\cos^2 x"), (r"\sqrt[3]{16}", r"2\sqrt[3]{2}"), (r"\ln 8", r"3\ln 2"), ("0.5", r"\frac12"),
          (r"2^{n+1}", r"2\cdot 2^n"), (r"\frac{n(n+1)}{2}", r"\frac{n^2+n}{2}"), (r"\{2,1\}", r"\{1,2\}"),
          (r"\sin x", r"\cos x"), (r"\ln 8", r"2\ln 2"), (r"e^{x}+1", r"e^{x+1}"), ("7", "8")]  # fmt: skip


def test_each_hostile_answer_is_judged_within_its_limit(hostile):
    limits = Limits()
    equivalent(r"\sin 1", "1")  # the pool is up
    for gold in GOLDS:
        for prediction in (f"\\boxed{{{hostile}}}", hostile):
            begun = time.monotonic()
            verdict = grade(prediction, gold, "bare")
            assert time.monotonic() - begun <= limits.seconds + 0.5
            assert verdict.kind != "correct"
    assert not Path("/tmp/owned").exists()


def test_degenerate_text_grows_no_faster_than_its_length():
    for piece in ("$", "\\text{", "(\\frac", "a ", "1/", "5 cm ", "^{", "1 234 ", "\\pm "):
        seconds = []
        for size in (250, 500, 1000):
            text = (piece * size)[:size]
            begun = time.perf_counter()
            for repeat in range(5):
                matching.match_quickly(text + "5" * repeat, "7")
            seconds.append(time.perf_counter() - begun)
        assert seconds[2] < 0.5, (piece, seconds)


def test_any_nesting_depth_is_survived_by_a_process():
    program = """
from rdiverse_verl.grading import grade
for depth in range(10, 2001, 199):
    for opening, closing in (("(", ")"), ("{", "}"), (r"\\frac{1}{", "}"), (r"\\{", r"\\}"), (r"\\sqrt{", "}")):
        verdict = grade("\\\\boxed{" + opening * depth + "1" + closing * depth + "}", "2")
        assert verdict.kind in ("wrong", "unparsable"), (depth, verdict)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=100)


def test_hostile_answers_change_no_honest_verdict(all_hostile, hang):
    """30 % hostile among honest ones, from many threads over the same two workers."""
    configure(Limits(workers=2))
    chance = random.Random(5)
    jobs = []
    for number in range(100):
        a, b = HONEST[number % len(HONEST)]
        jobs.append((f"\\boxed{{{a} + 0\\cdot {number}}}" if "{" not in a[:2] else f"\\boxed{{{a}}}", b, True))
    poison = chance.sample(all_hostile, 27) + [f"{hang}+{number}" for number in range(3)]
    jobs += [(f"\\boxed{{{answer}}}", "5", False) for answer in poison]

    def kinds(chosen):
        matching.forget()
        with ThreadPoolExecutor(8) as threads:
            return [verdict.kind for verdict in threads.map(lambda job: grade(job[0], job[1]), chosen)]

    honest = [job for job in jobs if job[2]]
    clean = kinds(honest)
    chance.shuffle(jobs)
    mixed = kinds(jobs)
    by_job = dict(zip([job[:2] for job in jobs], mixed, strict=True))
    assert [by_job[job[:2]] for job in honest] == clean
    assert set(clean) == {"correct", "wrong"}
    assert mixed.count("timeout") >= 3
    assert service.pool()._slots.qsize() == 2
    shut_down()
    configure(Limits())


def test_the_owner_does_not_grow(all_hostile):
    def resident_kib():
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4

    for answer in all_hostile:
        grade(answer, "5", "bare")
    before = resident_kib()
    for _ in range(3):
        for answer in all_hostile:
            grade(answer + " ", "6", "bare")
    assert resident_kib() - before < 64 * 1024
