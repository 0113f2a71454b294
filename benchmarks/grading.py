"""Grading: rates against verl's helper, and what hostile answers cost: ``python benchmarks/grading.py [--json FILE]``.

Every figure is measured in this one run. verl's helper starts four workers; rates of the pool are per core.
"""

import argparse
import json
import os
import random
import resource
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rdiverse_verl.grading import Limits, configure, equivalent, grade, grading_counters, matching, service, shut_down
from rdiverse_verl.grading.exact import value
from rdiverse_verl.grading.normal import normalize
from rdiverse_verl.grading.reading import read

REASONING = "We add the two sides, simplify, and check the cases one by one. " * 20
HANG = r"\gcd(9999^{9999},9998^{9999*9999})"
CORES = len(os.sched_getaffinity(0))


def simple(number: int) -> tuple[str, str]:
    """An integer, decimal or fraction with its gold."""
    forms = ((f"{number}", f"{number}"), (f"{number}.50", f"{number}.5"), (f"\\frac{{{number}}}{{7}}", f"{number}/7"))
    answer, gold = forms[number % 3]
    return f"{REASONING}So the answer is $\\boxed{{{answer}}}$.", gold if number % 2 else f"{number + 1}"


def realistic(number: int) -> tuple[str, str]:
    """Answers in the shapes and shares of math benchmarks: mostly numbers, some surds, lists and functions."""
    k = number // 20 + 2
    shapes = [(f"{k}", f"{k}")] * 9 + [(f"\\frac{{{k}}}{{{k + 1}}}", f"{k}/{k + 1}")] * 3 + [
        (f"{k}\\sqrt{{3}}", f"\\sqrt{{{3 * k * k}}}"), (f"\\frac{{{k}\\pi}}{{4}}", f"{k}\\pi/4"),
        (f"({k}, {k + 1})", f"({k},{k + 1})"), (f"\\{{{k}, 1\\}}", f"1, {k}"), (f"[{k}, \\infty)", f"x \\geq {k}"),
        (f"x^2+{k}x", f"x(x+{k})"), (f"{k}\\sin^2 x", f"{k}-{k}\\cos^2 x"), (f"e^{{{k}x}}+1", f"1+(e^x)^{{{k}}}"),
    ]  # fmt: skip
    answer, gold = shapes[number % 20]
    return f"{REASONING}So the answer is $\\boxed{{{answer}}}$.", gold


def forget_everything() -> None:
    """No answer is remembered, in this process or in workers."""
    matching.forget()
    for cached in (normalize, read, value, matching.number_of_parts):
        cached.cache_clear()
    shut_down()
    equivalent(r"\sin 1", "2")


def fast_path() -> float:
    """Distinct simple answers a second on one core."""
    pairs = [simple(number) for number in range(30_000)]
    begun = time.process_time()
    for prediction, gold in pairs:
        grade(prediction, gold)
    return len(pairs) / (time.process_time() - begun)


def rate(pairs: list[tuple[str, str]], judge, threads: int) -> float:
    """Answers a second from a number of calling threads."""
    begun = time.perf_counter()
    with ThreadPoolExecutor(threads) as executor:
        list(executor.map(lambda pair: judge(*pair), pairs))
    return len(pairs) / (time.perf_counter() - begun)


def hostile_answers() -> list[str]:
    """The hostile set of the tests."""
    rows = json.loads((Path(__file__).parents[1] / "tests/grading/hostile.json").read_text())
    return [row["piece"] * row.get("times", 1) for row in rows.values()]


def hostile_latency() -> float:
    """The longest call, in seconds."""
    longest = 0.0
    for answer in hostile_answers():
        for gold in ("5", r"\sqrt[3]{5}+1"):
            begun = time.perf_counter()
            grade(f"\\boxed{{{answer}}}", gold)
            longest = max(longest, time.perf_counter() - begun)
    return longest


def honest_rate_under_attack(share: float) -> tuple[float, list[str]]:
    """Honest answers a second while a share of all answers is hostile, and their verdicts."""
    chance = random.Random(0)
    honest = [(f"\\boxed{{{k}\\sin^2 x}}", f"{k}-{k}\\cos^2 x") for k in range(2, 300)]
    hostile = [(f"\\boxed{{{answer}}}", "5") for answer in hostile_answers() if answer != HANG]
    count = int(len(honest) * share / (1 - share))
    jobs = [(pair, True) for pair in honest] + [(hostile[k % len(hostile)], False) for k in range(count)]
    chance.shuffle(jobs)
    forget_everything()
    begun = time.perf_counter()
    with ThreadPoolExecutor(8) as threads:
        kinds = list(threads.map(lambda job: grade(*job[0]).kind, jobs))
    seconds = time.perf_counter() - begun
    return len(honest) / seconds, [kind for kind, job in zip(kinds, jobs, strict=True) if job[1]]


def measure() -> dict[str, float | str]:
    """All figures."""
    figures: dict[str, float | str] = {"cores": CORES}
    configure(Limits(workers=CORES))
    figures["fast path, answers/s on one core"] = fast_path()

    distinct = [realistic(number) for number in range(2000)]
    forget_everything()
    uncached = rate(distinct, grade, CORES)
    figures["realistic, no answer twice, answers/s per core"] = uncached / CORES

    functions = [(f"\\boxed{{{k}\\sin^2 x}}", f"{k}-{k}\\cos^2 x") for k in range(2, 200)]
    forget_everything()
    figures["functions only, no answer twice, answers/s per core"] = rate(functions, grade, CORES) / CORES

    chance = random.Random(1)
    repeated = [realistic(chance.randrange(75)) for _ in range(600)]  # 8 samples of each of 75 questions
    forget_everything()
    ours = rate(repeated, grade, CORES)
    figures["realistic, eightfold, answers/s"] = ours
    try:
        from verl.utils.reward_score.math_verify import compute_score
    except ImportError:
        figures["verl's helper"] = "not installed"
    else:
        compute_score(*repeated[0])
        theirs = rate(repeated, compute_score, 4)
        figures["verl's helper, same answers, answers/s"] = theirs
        figures["ours / verl's helper"] = ours / theirs

    configure(Limits(workers=CORES))
    equivalent(r"\sin 1", "2")
    figures["hostile set, longest call, s"] = hostile_latency()
    clean, clean_kinds = honest_rate_under_attack(0.0)
    attacked, attacked_kinds = honest_rate_under_attack(0.3)
    figures["honest rate with 30 % hostile / clean rate"] = attacked / clean
    figures["honest verdicts changed by 30 % hostile"] = clean_kinds.count("correct") - attacked_kinds.count("correct")
    figures["workers replaced"] = grading_counters()["grader/workers_replaced"]
    figures["pool size"] = service.pool()._slots.qsize()
    figures["this process, peak MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


def main() -> None:
    """Print the figures, and write them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    figures = measure()
    for name, figure in figures.items():
        print(f"{name:55} {figure if isinstance(figure, str) else f'{figure:,.2f}'}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
