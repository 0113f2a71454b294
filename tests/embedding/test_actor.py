"""The embedding actor in a Ray of its own."""

import os
import signal
import tempfile
import time

import numpy as np
import pytest

from rdiverse_verl.embedding.actor import start_embedding_actor
from rdiverse_verl.embedding.hashed import HashEncoder
from rdiverse_verl.embedding.length_aware import LengthAwareEncoder

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    with tempfile.TemporaryDirectory(prefix="emb", dir="/tmp", ignore_cleanup_errors=True) as folder:
        ray.init(num_cpus=1, _temp_dir=folder, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


def test_many_workers_share_one_encoder(cluster):
    actor = start_embedding_actor("shared", "hash")

    @ray.remote(num_cpus=0)
    def worker(number):
        same = ray.get_actor("shared")
        return ray.get([same.embed.remote([f"worker {number} text {i}", ""]) for i in range(5)])

    answers = ray.get([worker.remote(number) for number in range(3)])
    expected = LengthAwareEncoder(HashEncoder())
    for number, own in enumerate(answers):
        for i, (good, empty) in enumerate(own):
            np.testing.assert_array_equal(good.emb_P_D, expected.encode([f"worker {number} text {i}"]))
            assert (good.fault, empty.fault) == ("", "empty text")
    counts = ray.get(actor.counts.remote())
    assert (counts["requests"], counts["texts"], counts["faults"]) == (15, 30, 15)
    assert ray.get(actor.space.remote()) == (expected.id, expected.dim)


def test_it_needs_no_free_cpu_and_starts_once(cluster):
    @ray.remote(num_cpus=1)
    def busy(first):
        second = start_embedding_actor("once", "hash")
        return first._actor_id == second._actor_id, ray.get(second.space.remote())

    first = start_embedding_actor("once", "hash")
    same, space = ray.get(busy.remote(first), timeout=60)
    assert same
    assert space == (LengthAwareEncoder(HashEncoder()).id, 64)


def test_killed_it_comes_back(cluster):
    actor = start_embedding_actor("mortal", "hash")
    pid = ray.get(actor.pid.remote())
    before = ray.get(actor.embed.remote(["a b c"]))[0].emb_P_D
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while True:
        try:
            after = ray.get(actor.embed.remote(["a b c"]))[0].emb_P_D
            break
        except (ray.exceptions.ActorDiedError, ray.exceptions.ActorUnavailableError):
            assert time.monotonic() < deadline
            time.sleep(0.2)
    np.testing.assert_array_equal(after, before)


def test_an_encoder_that_does_not_load_says_why(cluster):
    for name, encoder, device, why in (
        ("absent", "/no/such/model", "cpu", "neither a folder"),
        ("far", "all-MiniLM-L6-v2", "cuda:7", "cuda:7"),
    ):
        actor = start_embedding_actor(name, encoder, device=device)
        with pytest.raises(ray.exceptions.RayActorError, match=why):
            ray.get(actor.space.remote())
