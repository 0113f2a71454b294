"""The generation engine: exact log-probabilities, equality whatever the batch, weight updates, refusals, death."""

import asyncio
import random

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from rdiverse_verl.cpu.engine import GenerationEngine
from rdiverse_verl.cpu.options import SamplingOptions
from rdiverse_verl.errors import ConfigError, ServiceError, StateError


@pytest.fixture
def engine(random_model):
    with_thread = GenerationEngine(random_model)
    yield with_thread
    with_thread.close()


@pytest.fixture(scope="module")
def plain_model(random_model):
    return AutoModelForCausalLM.from_pretrained(random_model, dtype=torch.float64)


def generate_all(engine, requests):
    async def all_at_once():
        return await asyncio.gather(*(engine.generate(prompt, options) for prompt, options in requests))

    return asyncio.run(all_at_once())


def requests_of_many_shapes(count=24):
    shapes = random.Random(5)
    return [
        (
            [shapes.randrange(5, 101) for _ in range(shapes.randrange(1, 40))],
            SamplingOptions(
                temperature=shapes.choice([0.0, 0.3, 1.0, 1.7]),
                top_p=shapes.choice([1.0, 0.8]),
                top_k=shapes.choice([-1, 5]),
                max_tokens=shapes.randrange(1, 40),
                seed=shapes.randrange(2**40),
            ),
        )
        for _ in range(count)
    ]


def test_logprobs_are_those_of_a_plain_forward_pass(engine, plain_model):
    requests = requests_of_many_shapes()
    for (prompt, options), reply in zip(requests, generate_all(engine, requests), strict=True):
        with torch.no_grad():
            logits = plain_model(torch.tensor([prompt + reply.token_ids])).logits[0, len(prompt) - 1 : -1]
        expected = torch.log_softmax(logits / (options.temperature or 1.0), dim=-1)
        expected = expected[torch.arange(len(reply.token_ids)), reply.token_ids]
        assert np.abs(expected.numpy() - reply.logprobs).max() <= 1e-6


def test_greedy_tokens_are_those_of_transformers_generate(engine, plain_model):
    prompt = list(range(10, 30))
    [reply] = generate_all(engine, [(prompt, SamplingOptions(temperature=0, max_tokens=30, ignore_eos=True))])
    expected = plain_model.generate(torch.tensor([prompt]), max_new_tokens=30, do_sample=False, eos_token_id=None)
    assert reply.token_ids == expected[0, len(prompt) :].tolist()


def test_a_seeded_reply_depends_on_nothing_but_its_request(engine, random_model):
    requests = requests_of_many_shapes()
    together = generate_all(engine, requests)
    alone = [generate_all(engine, [request])[0] for request in requests]
    shuffled_order = random.Random(1).sample(range(len(requests)), len(requests))
    shuffled = generate_all(engine, [requests[i] for i in shuffled_order])
    strangers = [([7] * 60, SamplingOptions(max_tokens=60)) for _ in range(20)]
    among_strangers = generate_all(engine, strangers + requests)[len(strangers) :]
    small = GenerationEngine(random_model, max_batch_size=3)
    queued = generate_all(small, requests)
    small.close()

    assert alone == together
    assert [shuffled[shuffled_order.index(i)] for i in range(len(requests))] == together
    assert among_strangers == together
    assert queued == together


def test_the_seed_decides(engine):
    def reply(seed):
        return generate_all(engine, [([9, 8, 7], SamplingOptions(max_tokens=20, seed=seed))])[0].token_ids

    assert reply(1) == reply(1) != reply(2)


def test_requests_without_seed_differ_and_come_from_the_engine_seed(random_model):
    def replies(seed):
        engine = GenerationEngine(random_model, seed=seed)
        request = ([9, 8, 7], SamplingOptions(max_tokens=20))
        tokens = [generate_all(engine, [request])[0].token_ids for _ in range(2)]
        engine.close()
        return tokens

    first, second = replies(0)
    assert first != second
    assert replies(0) == [first, second]
    assert replies(1)[0] != first


def test_both_end_ids_end_a_reply_and_ignore_eos_does_not(engine):
    tokenizer = engine.tokenizer
    for text in ("<eos>", "~"):
        end = tokenizer.convert_tokens_to_ids(text)
        options = SamplingOptions(temperature=3.0, max_tokens=200)
        replies = generate_all(engine, [([end + 1], options)] * 40)
        assert any(reply.token_ids[-1] == end for reply in replies)
        for reply in replies:
            assert (reply.finish_reason == "stop") == (end in reply.token_ids) or reply.token_ids[-1] != end
            assert end not in reply.token_ids[:-1]
    free = generate_all(engine, [([9], SamplingOptions(temperature=3.0, max_tokens=200, ignore_eos=True))] * 20)
    assert {(len(reply.token_ids), reply.finish_reason) for reply in free} == {(200, "length")}


def test_stop_ids_and_stop_strings_end_a_reply(engine):
    tokenizer = engine.tokenizer
    prompt = tokenizer.encode("abc")
    [free] = generate_all(engine, [(prompt, SamplingOptions(max_tokens=40, seed=3, ignore_eos=True))])
    stop_id = free.token_ids[20]
    [by_id] = generate_all(
        engine, [(prompt, SamplingOptions(max_tokens=40, seed=3, ignore_eos=True, stop_token_ids=(stop_id,)))]
    )
    assert by_id.token_ids == free.token_ids[: free.token_ids.index(stop_id) + 1]
    assert by_id.finish_reason == "stop"

    text = tokenizer.decode(free.token_ids[10:13])
    [by_text] = generate_all(
        engine, [(prompt, SamplingOptions(max_tokens=40, seed=3, ignore_eos=True, stop=("never", text)))]
    )
    assert by_text.finish_reason == "stop"
    assert by_text.stop_string == text
    assert tokenizer.decode(by_text.token_ids).endswith(text)
    assert by_text.token_ids == free.token_ids[: len(by_text.token_ids)]
