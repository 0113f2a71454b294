"""The generation engine: exact log-probabilities, equality whatever the batch, weight updates, refusals, death."""

import asyncio
import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm

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
    """Transformers' own model, except that its norms do not go through float32."""
    model = AutoModelForCausalLM.from_pretrained(random_model, dtype=torch.float64)

    def norm_in_float64(module, x):
        return module.weight * x / (x.square().mean(-1, keepdim=True) + module.variance_epsilon).sqrt()

    for module in model.modules():
        if isinstance(module, Qwen3RMSNorm):
            module.forward = partial(norm_in_float64, module)
    return model


def logprobs_by(model, prompt, reply, temperature):
    with torch.no_grad():
        logits = model(torch.tensor([prompt + reply.token_ids])).logits[0, len(prompt) - 1 : -1]
    logprobs = torch.log_softmax(logits.double() / (temperature or 1.0), dim=-1)
    return logprobs[torch.arange(len(reply.token_ids)), reply.token_ids].numpy()


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
        expected = logprobs_by(plain_model, prompt, reply, options.temperature)
        assert np.abs(expected - reply.logprobs).max() <= 2**-25 + 1e-12  # half a step of the grid


def test_logprobs_agree_with_a_trainer_in_float32(engine, random_model):
    trainer_model = AutoModelForCausalLM.from_pretrained(random_model, dtype=torch.float32)
    requests = [(prompt, replace(options, temperature=1.0)) for prompt, options in requests_of_many_shapes()]
    for (prompt, _), reply in zip(requests, generate_all(engine, requests), strict=True):
        assert np.abs(logprobs_by(trainer_model, prompt, reply, 1.0) - reply.logprobs).max() <= 1e-5


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
            assert end not in reply.token_ids[:-1]
            assert reply.finish_reason == "stop" or reply.token_ids[-1] != end
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


def perturbed_state(plain_model):
    return [(name, tensor * 1.25) for name, tensor in plain_model.named_parameters()]


def test_new_weights_wait_for_running_requests_and_hold_back_later_ones(engine, plain_model, random_model):
    request = (list(range(20, 30)), SamplingOptions(temperature=0, max_tokens=60, ignore_eos=True))

    async def before_update_after():
        before = asyncio.create_task(engine.generate(*request))
        await asyncio.sleep(0)
        update = asyncio.create_task(engine.load_state(perturbed_state(plain_model)))
        await asyncio.sleep(0)
        after = asyncio.create_task(engine.generate(*request))
        await update
        assert before.done()
        return await before, await after

    untouched = GenerationEngine(random_model)
    [old_reply] = generate_all(untouched, [request])
    asyncio.run(untouched.load_state(perturbed_state(plain_model)))
    [new_reply] = generate_all(untouched, [request])
    untouched.close()
    assert old_reply != new_reply
    assert asyncio.run(before_update_after()) == (old_reply, new_reply)


def test_a_weight_update_that_does_not_fit_changes_nothing(engine, plain_model):
    request = ([9, 8, 7], SamplingOptions(max_tokens=20, seed=1))
    before = generate_all(engine, [request])
    state = perturbed_state(plain_model)
    name, tensor = state[-1]
    for wrong, message in [
        ([*state, ("model.layers.9.norm", tensor)], "no tensor named 'model.layers.9.norm'"),
        ([*state[:-1], (name, tensor[:-1])], f"'{name}' has shape"),
        (state[:-1], f"the first is '{name}'"),
        ([*state, state[-1]], "sent twice"),
    ]:
        with pytest.raises(ConfigError, match=message):
            asyncio.run(engine.load_state(wrong))
    assert generate_all(engine, [request]) == before


def test_damaged_weights_fail_the_request_and_new_ones_heal_the_engine(engine, plain_model):
    good = [(name, tensor.detach()) for name, tensor in plain_model.named_parameters()]
    request = ([9, 8, 7], SamplingOptions(max_tokens=20, seed=1))
    before = generate_all(engine, [request])
    asyncio.run(engine.load_state([(name, tensor * float("nan")) for name, tensor in good]))
    with pytest.raises(StateError, match="not finite"):
        generate_all(engine, [request])
    asyncio.run(engine.load_state(good))
    assert generate_all(engine, [request]) == before


@pytest.mark.parametrize(
    ("prompt", "options", "message"),
    [
        ([], SamplingOptions(), "prompt is empty"),
        ([5, 101], SamplingOptions(), "token id 101: the model's vocabulary is 0 to 100"),
        ([-1], SamplingOptions(), "token id -1"),
        ([5], SamplingOptions(stop_token_ids=(500,)), "stop_token_ids holds token id 500"),
        ([5] * 200, SamplingOptions(max_tokens=57), "200 tokens and max_tokens=57 exceed max_model_len=256"),
        ([5] * 256, SamplingOptions(), "exceed max_model_len=256"),
    ],
)
def test_a_request_that_cannot_be_served_is_refused_at_once(engine, prompt, options, message):
    with pytest.raises(ConfigError, match=message):
        generate_all(engine, [(prompt, options)])


def test_without_max_tokens_a_reply_fills_the_context(engine):
    [reply] = generate_all(engine, [([5] * 250, SamplingOptions(temperature=0, ignore_eos=True))])
    assert (len(reply.token_ids), reply.finish_reason) == (6, "length")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"max_batch_size": 0}, "max_batch_size=0"), ({"max_model_len": 257}, "max_model_len=257.*256")],
)
def test_limits_out_of_range_are_refused(random_model, arguments, message):
    with pytest.raises(ConfigError, match=message):
        GenerationEngine(random_model, **arguments)


def test_a_caller_that_gives_up_frees_its_place(random_model):
    async def give_up_then_ask(engine):
        slow = asyncio.create_task(engine.generate([9], SamplingOptions(max_tokens=250, ignore_eos=True)))
        await asyncio.sleep(0.05)
        slow.cancel()
        return await asyncio.wait_for(engine.generate([9, 8], SamplingOptions(max_tokens=2, seed=0)), 30)

    engine = GenerationEngine(random_model, max_batch_size=1)
    reply = asyncio.run(give_up_then_ask(engine))
    assert generate_all(engine, [([9, 8], SamplingOptions(max_tokens=2, seed=0))]) == [reply]
    engine.close()


def test_closing_fails_running_and_waiting_requests_and_later_ones(random_model):
    engine = GenerationEngine(random_model, max_batch_size=1)

    async def close_while_busy():
        request = ([9], SamplingOptions(max_tokens=250, ignore_eos=True))
        tasks = [asyncio.create_task(engine.generate(*request)) for _ in range(3)]
        await asyncio.sleep(0.05)
        engine.close()
        return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)

    outcomes = asyncio.run(close_while_busy())
    assert [type(outcome) for outcome in outcomes] == [ServiceError] * 3
    with pytest.raises(ServiceError, match="closed"):
        generate_all(engine, [([9], SamplingOptions(max_tokens=1))])


def test_a_dead_engine_thread_fails_all_with_the_cause(random_model, plain_model):
    class BrokenTensor:
        shape = plain_model.model.norm.weight.shape

    def broken_state():
        for name, tensor in plain_model.named_parameters():
            yield name, BrokenTensor() if name == "model.norm.weight" else tensor.detach()

    engine = GenerationEngine(random_model)

    async def break_while_others_wait():
        update = engine.load_state(broken_state())
        waiting = engine.generate([9], SamplingOptions(max_tokens=5))
        return await asyncio.wait_for(asyncio.gather(update, waiting, return_exceptions=True), 30)

    for outcome in asyncio.run(break_while_others_wait()):
        assert isinstance(outcome, ServiceError)
        assert "BrokenTensor" in str(outcome)
    with pytest.raises(ServiceError, match="BrokenTensor"):
        generate_all(engine, [([9], SamplingOptions(max_tokens=1))])
    assert "BrokenTensor" in str(engine.failure)
