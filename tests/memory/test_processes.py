"""The memory among real processes: killed in the middle of an append, and read while it is written."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from rdiverse_verl.memory import FrozenMemory, MemoryBank, MemoryRow

WRITER = """
import sys
import numpy as np
from rdiverse_verl.memory import MemoryBank, MemoryRow

path, first, last, size = sys.argv[1], *map(int, sys.argv[2:])
axis = np.eye(1, 384, dtype=np.float32)[0]
with MemoryBank(path, "encoder-a", 384) as bank:
    for iteration in range(first, last + 1):
        rows = [MemoryRow(f"{iteration}-{i}", "1", 0.5, iteration, "", axis) for i in range(size)]
        print("appending", flush=True)
        bank.append(iteration, rows)
print("done", flush=True)
"""

READER = """
import sys, time
from rdiverse_verl.memory import FrozenMemory

path, size, wanted = sys.argv[1], *map(int, sys.argv[2:])
seen = 0
while seen < wanted:
    memory = FrozenMemory.open(path, "encoder-a", 384, 10**6)
    assert len(memory) % size == 0, len(memory)
    assert len(memory) >= seen, (len(memory), seen)
    seen = len(memory)
print("saw", seen)
"""


def start(script, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


@pytest.mark.parametrize("progress", [0.05, 0.3, 0.6])
def test_killed_in_the_middle_of_an_append_leaves_none_of_it(tmp_path, progress):
    path, size = tmp_path / "memory.sqlite", 20_000
    with MemoryBank(path, "encoder-a", 384) as bank:
        axis = np.eye(1, 384, dtype=np.float32)[0]
        bank.append(1, [MemoryRow("kept", "1", 0.5, 1, "", axis)])
        before = bank.digest()
    child = start(WRITER, path, 2, 2, size)
    log, written = path.with_name(path.name + "-wal"), progress * size * 384 * 4
    deadline = time.monotonic() + 60
    while not (log.exists() and log.stat().st_size > written) and time.monotonic() < deadline:
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    output, _ = child.communicate()
    assert output == "appending\n", "the append was over before the kill"
    assert log.stat().st_size > written

    assert len(FrozenMemory.open(path, "encoder-a", 384, 10**6)) == 1
    with MemoryBank(path, "encoder-a", 384) as bank:
        assert bank.digest() == before
        bank.verify()
    assert start(WRITER, path, 2, 2, 50).wait(60) == 0
    with MemoryBank(path, "encoder-a", 384) as bank:
        assert len(bank) == 51


def test_readers_see_whole_iterations_while_one_writes(tmp_path):
    path, size, iterations = tmp_path / "memory.sqlite", 200, 12
    MemoryBank(path, "encoder-a", 384).close()
    readers = [start(READER, path, size, size * iterations) for _ in range(2)]
    writer = start(WRITER, path, 1, iterations, size)
    for process in (writer, *readers):
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
    with MemoryBank(path, "encoder-a", 384) as bank:
        bank.verify()
        assert len(bank) == size * iterations


def test_a_reader_needs_no_writer_and_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "memory.sqlite"
    assert start(WRITER, path, 1, 1, 5).wait(60) == 0
    content = path.read_bytes()
    assert len(FrozenMemory.open(path, "encoder-a", 384, 2)) == 5
    assert path.read_bytes() == content
