"""Many callers, one encoder, and texts or vectors that are no good."""

import asyncio
import threading

import numpy as np
import pytest

from rdiverse_verl.embedding.batcher import Batcher, embed_each
from rdiverse_verl.embedding.hashed import HashEncoder
from rdiverse_verl.embedding.length_aware import LengthAwareEncoder


class Gated(HashEncoder):
    """Waits at its first call until it is let through, and remembers what it was given."""

    def __init__(self):
        super().__init__()
        self.calls = []
        self.gate = threading.Event()

    def encode(self, texts):
        self.calls.append(list(texts))
        assert self.gate.wait(20)
        return super().encode(texts)


class Faulty(HashEncoder):
    """Returns what a broken encoder would for the texts that ask for it."""

    def encode(self, texts):
        emb_N_D = super().encode(texts)
        for vector_D, text in zip(emb_N_D, texts, strict=True):
            if text == "crash":
                raise RuntimeError("CUDA error")
            if text in ("nan", "inf", "zero"):
                vector_D[:] = float("0" if text == "zero" else text)
        return emb_N_D[:, :-1] if "narrow" in texts else emb_N_D


def test_requests_that_arrive_meanwhile_share_a_call():
    async def scenario():
        encoder = Gated()
        batcher = Batcher(LengthAwareEncoder(encoder, "exact"))
        first = asyncio.create_task(batcher.embed(["one"]))
        while not encoder.calls:
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(batcher.embed([f"text {i}", f"more {i}"])) for i in range(20)]
        await asyncio.sleep(0.01)
        encoder.gate.set()
        await asyncio.gather(first, *others)
        assert [len(call) for call in encoder.calls] == [1, 40]
        assert (batcher.counts.requests, batcher.counts.texts, batcher.counts.calls) == (21, 41, 2)
        return [answer for other in others for answer in other.result()]

    answers = asyncio.run(scenario())
    texts = [text for i in range(20) for text in (f"text {i}", f"more {i}")]
    expected = LengthAwareEncoder(HashEncoder(), "exact").encode(texts)
    np.testing.assert_array_equal(np.concatenate([answer.emb_P_D for answer in answers]), expected)


def test_a_call_takes_no_more_texts_than_it_may_and_answers_whoever_is_complete():
    async def scenario():
        encoder = Gated()
        encoder.gate.set()
        batcher = Batcher(LengthAwareEncoder(encoder, "exact"), max_texts=4)
        done = []

        async def ask(name, size):
            await batcher.embed([f"{name} {j}" for j in range(size)])
            done.append((name, len(encoder.calls)))

        await asyncio.gather(*(ask(name, size) for name, size in (("a", 3), ("b", 1), ("c", 9), ("d", 2))))
        return [len(call) for call in encoder.calls], done

    calls, done = asyncio.run(scenario())
    assert calls == [4, 4, 4, 3]
    assert [name for name, _ in done] == ["a", "b", "c", "d"]
    assert dict(done)["a"] < 4


def test_what_nobody_waits_for_any_more_is_not_encoded():
    async def scenario():
        encoder = Gated()
        batcher = Batcher(LengthAwareEncoder(encoder, "exact"), max_texts=1)
        tasks = [asyncio.create_task(batcher.embed([text])) for text in ("one", "two", "three")]
        while not encoder.calls:
            await asyncio.sleep(0.001)
        tasks[1].cancel()
        encoder.gate.set()
        await tasks[2]
        return [text for call in encoder.calls for text in call]

    assert asyncio.run(scenario()) == ["one", "three"]


def test_a_caller_that_gave_up_disturbs_nobody():
    async def scenario():
        encoder = Gated()
        batcher = Batcher(LengthAwareEncoder(encoder))
        tasks = [asyncio.create_task(batcher.embed([text])) for text in ("one", "two", "three")]
        while not encoder.calls:
            await asyncio.sleep(0.001)
        tasks[0].cancel()
        tasks[1].cancel()
        encoder.gate.set()
        assert not (await tasks[2])[0].fault
        assert len((await batcher.embed(["four"]))[0].emb_P_D) == 1

    asyncio.run(scenario())


def test_prefixes_come_back_with_their_text():
    answers = asyncio.run(Batcher(LengthAwareEncoder(HashEncoder())).embed(["a b\nc d", "e"], [[3, 7], []]))
    assert [len(answer.emb_P_D) for answer in answers] == [2, 0]


@pytest.mark.parametrize("mode", ["pool", "exact"])
@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("", "empty"),
        (" \n", "empty"),
        (None, "NoneType"),
        ("nan", "length nan"),
        ("inf", "length"),
        ("zero", "length 0"),
        ("narrow", "63"),
        ("crash", "CUDA error"),
    ],
)
def test_one_bad_text_costs_nobody_else_a_vector(bad, why, mode):
    encoder = LengthAwareEncoder(Faulty(), mode)

    async def scenario():
        batcher = Batcher(encoder)
        answers = await batcher.embed(["a b", bad, "c d"])
        return answers, batcher.counts

    (first, second, third), counts = asyncio.run(scenario())
    assert why in second.fault
    assert len(second.emb_P_D) == 0
    expected = LengthAwareEncoder(HashEncoder(), mode).encode(["a b", "c d"])
    np.testing.assert_array_equal(np.concatenate([first.emb_P_D, third.emb_P_D]), expected)
    assert (first.fault, third.fault, counts.faults) == ("", "", 1)


def test_prefix_ends_outside_a_text_are_its_own_fault():
    good, bad = embed_each(LengthAwareEncoder(HashEncoder()), ["a b", "c"], [[3], [9]])
    assert len(good.emb_P_D) == 1
    assert "9 characters" in bad.fault
