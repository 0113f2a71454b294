"""One grading worker: reads a pair of normalized answers a line, writes how far it came and how they match.

A job's answer is the lines ``start``, ``a`` and ``b`` (each side alone was evaluated), then the match or ``memory``.
The owner kills a worker that is late; should the owner be gone, the kernel's timer does, whatever the worker is busy
with.
"""

import json
import os
import resource
import signal
import socket
import sys

from rdiverse_verl.grading import exact
from rdiverse_verl.grading.answer import Node, leaves
from rdiverse_verl.grading.compare import compare
from rdiverse_verl.grading.reading import read
from rdiverse_verl.grading.symbolic import Symbols, evaluate

_ALGEBRA = Symbols()
_TYPICAL = (
    "3\\sin ^2 x+4-\\cos ^{2}(2x)",
    "\\frac {1}{2}\\ln 3-2\\log _{10} 5",
    "2^{n+1}-\\sqrt [3]{x+1}",
    "e^{-2x}+\\frac {\\sqrt {x^2+1}}{x-1}",
    "-\\tan \\frac {\\pi }{8}*x^{\\frac {2}{3}}",
    "|x-1|+n!",
)
_TIMER_GRACE_S = 0.4


def serve(jobs: socket.socket, seconds: float, mebibytes: int) -> None:
    """Answer jobs until the owner closes the socket or this process has grown to half of its allowance."""
    devnull = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(devnull, stream)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for line in jobs.makefile("rb"):
        signal.setitimer(signal.ITIMER_REAL, seconds + _TIMER_GRACE_S)
        try:
            a, b = json.loads(line)
            _say(jobs, "start")
            _evaluate(read(a))
            _say(jobs, "a")
            _evaluate(read(b))
            _say(jobs, "b")
            _say(jobs, compare(read(a), read(b), _ALGEBRA).name)
        except MemoryError:
            _say(jobs, "memory")
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        if _resident_mebibytes() > mebibytes / 2:
            return


def warm_up() -> None:
    """Load what comparisons load, and let the parser learn its tables, before the workers are forked."""
    for text in _TYPICAL:
        evaluate(text)


def _evaluate(node: Node) -> None:
    """Each leaf alone, so that a hang is blamed on the side that causes it."""
    for leaf in leaves(node):
        if exact.value(leaf) is None:
            evaluate(leaf)


def _say(jobs: socket.socket, word: str) -> None:
    jobs.sendall(word.encode() + b"\n")


def _resident_mebibytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / 1024
