"""Weights from a trainer's process to another's through a file: equality, lateness, death, and nothing left behind."""

import asyncio
import multiprocessing
import os
import resource
import signal
import stat
import tempfile
import time

import pytest
import torch

from rdiverse_verl.errors import ServiceError, StateError

fork = multiprocessing.get_context("fork")  # a process that has verl imported already


@pytest.fixture(scope="module")
def make_engine():
    from verl.checkpoint_engine import CheckpointEngineRegistry

    import rdiverse_verl.cpu.weight_transfer  # noqa: F401 (registers itself)

    def make(**options):
        return CheckpointEngineRegistry.new("local_file", bucket_size=1, **options)

    return make


@pytest.fixture
def ends(make_engine, tmp_path, monkeypatch):
    """A trainer's rank 0 and a replica, ready for one transfer; the folder that they share is in ``tmp_path``."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sender, receiver = make_engine(is_master=True), make_engine(timeout_s=120)
    connect(sender, receiver)
    yield sender, receiver
    sender.finalize()


@pytest.fixture
def in_another_process():
    children = []

    def start(function, *arguments):
        def alone():
            torch.set_num_threads(1)  # a forked process has none of torch's threads and would wait for them
            function(*arguments)

        child = fork.Process(target=alone)
        child.start()
        children.append(child)
        return child

    yield start
    for child in children:
        child.kill()
        child.join()


def connect(sender, *receivers):
    metadata = [end.prepare() for end in (sender, *receivers)]
    to_trainer, to_replicas = sender.build_topology(1, len(receivers), metadata)
    sender.init_process_group(folder=to_trainer["folder"][0])
    for receiver, folder in zip(receivers, to_replicas["folder"], strict=True):
        receiver.init_process_group(folder=folder)


def weights(seed):
    generator = torch.Generator().manual_seed(seed)
    embedding = torch.randn(50, 16, generator=generator)
    yield "embedding", embedding
    yield "half", torch.randn(3, 4, generator=generator, dtype=torch.float32).to(torch.bfloat16)
    yield "transposed", torch.randn(5, 7, generator=generator).T
    yield "head", embedding  # tied: the same memory under another name


def send(engine, named_tensors, step):
    asyncio.run(engine.send_weights(named_tensors, global_steps=step))


def receive(engine, step):
    async def collect():
        return {name: tensor.clone() async for name, tensor in engine.receive_weights(global_steps=step)}

    return asyncio.run(collect())


def assert_equal(received, sent):
    sent = dict(sent)
    assert received.keys() == sent.keys()
    for name, tensor in sent.items():
        assert received[name].dtype == tensor.dtype
        assert torch.equal(received[name], tensor)


def test_every_replica_gets_every_tensor_as_it_was(ends, make_engine, in_another_process, tmp_path):
    sender, receiver = ends
    other = make_engine()
    other.init_process_group(folder=str(receiver._folder))
    [folder] = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    in_another_process(send, sender, weights(1), 3)
    received = receive(receiver, 3)
    assert_equal(receive(other, 3), weights(1))
    sender.finalize()
    assert list(tmp_path.iterdir()) == []
    assert_equal(received, weights(1))


def test_the_next_transfer_brings_the_next_weights(ends, tmp_path):
    sender, receiver = ends
    for step in (1, 2):
        send(sender, weights(step), step)
        assert_equal(receive(receiver, step), weights(step))
        sender.finalize()
        connect(sender, receiver)


def test_a_replica_waits_until_the_file_is_complete(ends, in_another_process):
    def slowly():
        yield from weights(2)
        time.sleep(0.2)
        yield "last", torch.arange(1e6)

    sender, receiver = ends
    in_another_process(send, sender, slowly(), 1)
    assert_equal(receive(receiver, 1), slowly())


def test_only_rank_0_writes_but_every_rank_gathers(make_engine, ends):
    gathered = []
    rank_1 = make_engine(is_master=False)
    rank_1.init_process_group(folder=str(ends[0]._folder))
    send(rank_1, (gathered.append(name) for name, _ in weights(1)), 1)
    assert gathered == ["embedding", "half", "transposed", "head"]
    assert list(rank_1._folder.iterdir()) == []


def test_a_trainer_killed_while_it_writes_leaves_a_clear_error(ends, in_another_process, tmp_path):
    def forever():
        yield from weights(1)
        time.sleep(60)

    sender, receiver = ends
    receiver.timeout_s = 1
    child = in_another_process(send, sender, forever(), 7)
    time.sleep(0.2)
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(ServiceError, match=r"no weights of step 7 in .* after 1 s: the trainer has stopped"):
        receive(receiver, 7)


def test_a_trainer_that_fails_says_so_at_once_and_leaves_nothing(ends, tmp_path):
    def broken():
        yield from weights(1)
        raise ValueError("gathering failed")

    sender, receiver = ends
    with pytest.raises(ValueError, match="gathering failed"):
        send(sender, broken(), 1)
    assert list(tmp_path.iterdir()) == []
    started = time.monotonic()
    with pytest.raises(ServiceError, match="sent no weights of step 1: its own error is in the log"):
        receive(receiver, 1)
    assert time.monotonic() - started < 1


def test_a_file_that_cannot_be_written_is_named(ends, in_another_process, tmp_path):
    def send_with_little_space(outcome):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            send(sender, weights(1), 1)
        except StateError as error:
            outcome.send(str(error))

    sender, _ = ends
    reading, writing = fork.Pipe(duplex=False)
    in_another_process(send_with_little_space, writing)
    assert reading.poll(20)
    assert "cannot write the weights of step 1 into" in reading.recv()
    assert list(tmp_path.iterdir()) == []
