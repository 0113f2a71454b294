"""Ray's workers as forks: what a worker inherits, and what remains when its driver is gone."""

import json
import os
import subprocess
import sys
import textwrap
import time

import psutil
import pytest

from rdiverse_verl.cpu import fork_client

pytestmark = pytest.mark.slow

WORKER = """
import json, os, sys
facts = {"argv": sys.argv, "folder": os.getcwd(), "mark": os.environ.get("MARK"), "verl": "verl.trainer" in sys.modules}
print(json.dumps(facts | {"own_group": os.getpgid(0) == os.getpid(), "main": __name__}))
"""

# A driver that asks for one worker through a shell, as Ray does, and then dies without a word.
DRIVER = """
import os, subprocess, sys
from rdiverse_verl.cpu import fork_client, fork_server
fork_server.start()
command = [sys.executable, "-S", fork_client.__file__, sys.argv[1], "one", "two words"]
subprocess.run(command, env={**os.environ, "MARK": "worker"}, cwd=sys.argv[2], timeout=100)
print(os.environ[fork_client.SOCKET], flush=True)
os._exit(9)
"""


@pytest.fixture
def worker(tmp_path):
    path = tmp_path / "worker.py"
    path.write_text(WORKER)
    return path


def test_worker_has_its_own_arguments_environment_folder_and_process_group(tmp_path, worker):
    environment = {**os.environ, "VERL_PLATFORM": "cpu", "OMP_NUM_THREADS": "1"}
    driver = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(DRIVER), str(worker), str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    lines = driver.stdout.splitlines()
    assert json.loads(lines[0]) == {
        "argv": [str(worker), "one", "two words"],
        "folder": str(tmp_path),
        "mark": "worker",
        "verl": True,
        "own_group": True,
        "main": "__main__",
    }
    deadline = time.monotonic() + 10
    while os.path.exists(lines[1]):
        assert time.monotonic() < deadline, "the fork server has outlived its driver"
        time.sleep(0.1)
    assert not [p for p in psutil.process_iter(["cmdline"]) if lines[1] in (p.info["cmdline"] or [])]


def test_without_a_server_the_client_becomes_a_plain_python(tmp_path, worker):
    environment = {key: value for key, value in os.environ.items() if key != fork_client.SOCKET}
    command = [sys.executable, "-S", fork_client.__file__, str(worker), "one"]
    child = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=60)
    facts = json.loads(child.stdout)
    assert facts["argv"] == [str(worker), "one"]
    assert facts["verl"] is False
