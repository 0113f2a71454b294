"""Replies cut off at a weight update: what comes back, and that a continued reply is the one it would have been."""

import asyncio
import tempfile
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

import rdiverse_verl.cpu
from rdiverse_verl.cpu.engine import GenerationEngine
from rdiverse_verl.cpu.options import SamplingOptions
from rdiverse_verl.cpu.rollout_server import ServerLimits, TransformersServer

PROMPT = [9, 8, 7]
LIMITS = ServerLimits(prompt_length=56, response_length=200, max_model_len=256, max_num_seqs=8)


@pytest.fixture
def engine(random_model):
    with_thread = GenerationEngine(random_model, max_batch_size=2)
    yield with_thread
    with_thread.close()


@pytest.fixture(scope="module")
def same_weights(random_model):
    model = AutoModelForCausalLM.from_pretrained(random_model, dtype=torch.float32)
    return [(name, tensor.detach()) for name, tensor in model.named_parameters()]


@pytest.fixture(scope="module")
def other_weights(same_weights):
    return [(name, 1.25 * tensor) for name, tensor in same_weights]


def ask(tokens, seed=5):
    return SamplingOptions(max_tokens=tokens, ignore_eos=True, seed=seed)


def test_a_reply_cut_off_and_continued_is_the_uncut_reply(engine):
    async def in_pieces():
        token_ids, logprobs, pieces = [], [], 0
        while len(token_ids) < 200:
            under_way = asyncio.create_task(engine.generate(PROMPT + token_ids, ask(200 - len(token_ids))))
            await asyncio.sleep(0.05)
            await engine.abort()
            piece = await under_way
            token_ids, logprobs, pieces = token_ids + piece.token_ids, logprobs + piece.logprobs, pieces + 1
        return token_ids, logprobs, pieces

    whole = asyncio.run(engine.generate(PROMPT, ask(200)))
    token_ids, logprobs, pieces = asyncio.run(in_pieces())
    assert pieces > 1
    assert (token_ids, logprobs) == (whole.token_ids, whole.logprobs)


def test_abort_ends_what_came_before_it_and_nothing_else(engine, other_weights):
    async def run():
        before = [asyncio.create_task(engine.generate(PROMPT, ask(240, seed))) for seed in range(4)]
        await asyncio.sleep(0.05)
        update = asyncio.create_task(engine.load_state(other_weights))
        await asyncio.sleep(0)
        aborting = asyncio.create_task(engine.abort())
        await asyncio.sleep(0)
        after = asyncio.create_task(engine.generate(PROMPT, ask(3)))
        await update
        return await asyncio.gather(*before), await aborting, await after

    replies, aborted, after = asyncio.run(run())
    assert aborted == 4
    assert {reply.finish_reason for reply in replies} == {"abort"}
    assert all(0 < len(reply.token_ids) < 240 for reply in replies[:2])
    assert [reply.token_ids for reply in replies[2:]] == [[], []]  # they waited for a place
    assert all(len(reply.logprobs) == len(reply.token_ids) for reply in replies)
    assert (after.finish_reason, len(after.token_ids)) == ("length", 3)
    assert asyncio.run(engine.abort()) == 0


@pytest.fixture
def server(random_model):
    server = TransformersServer(str(random_model), LIMITS, 0, 1)
    yield server
    server.engine.close()


def generate(server, tokens=200, prompt=PROMPT):
    params = {"max_tokens": tokens, "ignore_eos": True, "seed": 5, "logprobs": True}
    return asyncio.create_task(server.generate(prompt, params, "some id"))


def test_requests_wait_behind_a_closed_gate_and_get_the_new_weights(server, same_weights, other_weights):
    async def sync():
        await server.update_weights(same_weights, 3)
        under_way = generate(server)
        await asyncio.sleep(0.05)
        assert (await server.abort_all_requests())["aborted_count"] == 1
        late = generate(server, 3)
        cut = await under_way
        await asyncio.sleep(0.2)
        assert not late.done()
        await server.update_weights(other_weights, 4)
        assert not late.done()
        await server.resume_generation()
        return cut, await late

    cut, late = asyncio.run(sync())
    assert (cut.stop_reason, cut.extra_fields["global_steps"]) == ("aborted", 3)
    assert 0 < len(cut.token_ids) == len(cut.log_probs) < 200
    assert (late.stop_reason, late.extra_fields["global_steps"]) == ("completed", 4)
    assert len(late.token_ids) == 3


def test_a_gate_that_rejects_turns_requests_away_at_once_until_it_opens(server):
    async def leave_and_return():
        await server.abort_all_requests(reject_request=True)
        rejected = await asyncio.wait_for(generate(server, 3), 5)
        await server.resume_generation()
        admitted = await generate(server, 3)
        await server.abort_all_requests()  # a later plain abort lets requests wait again
        parked = generate(server, 3)
        await asyncio.sleep(0.1)
        assert not parked.done()
        await server.resume_generation()
        return rejected, admitted, await parked

    rejected, *served = asyncio.run(leave_and_return())
    assert (rejected.stop_reason, rejected.token_ids) == ("aborted", [])
    assert [reply.stop_reason for reply in served] == ["completed"] * 2


def test_a_gate_that_closes_again_before_a_waiter_wakes_holds_it_back(server):
    async def open_for_a_moment():
        await server.abort_all_requests()
        waiting = generate(server, 3)
        await asyncio.sleep(0.05)
        await server.resume_generation()
        await server.abort_all_requests()
        await asyncio.sleep(0.1)
        assert not waiting.done()
        await server.resume_generation()
        return await waiting

    assert asyncio.run(open_for_a_moment()).stop_reason == "completed"


@pytest.fixture
def cluster():
    import ray

    with tempfile.TemporaryDirectory(prefix="part", dir="/tmp", ignore_cleanup_errors=True) as folder:
        ray.init(num_cpus=4, _temp_dir=folder, include_dashboard=False, log_to_driver=False)
        yield ray
        ray.shutdown()


@pytest.mark.slow
def test_verls_client_goes_on_over_weight_updates_and_on_another_server(cluster, random_model, same_weights):
    """verl's own client and router: cut off twice, once for new weights and once because the server leaves."""
    from omegaconf import OmegaConf
    from verl.workers.rollout.llm_server import FullyAsyncLLMServerClient
    from verl.workers.rollout.router import get_router_handle

    first, second = (
        cluster.remote(TransformersServer).options(num_cpus=0).remote(str(random_model), LIMITS, 0, 1) for _ in "ab"
    )
    cluster.get([server.update_weights.remote(same_weights, 1) for server in (first, second)])
    router_config = str(Path(rdiverse_verl.cpu.__file__).with_name("router.yaml"))
    router = get_router_handle({"first": first}, router_config_path=router_config)
    config = OmegaConf.create({"actor_rollout_ref": {"rollout": {"name": "transformers", "response_length": 200}}})
    client = FullyAsyncLLMServerClient(config, load_balancer_handle=router)
    params = {"ignore_eos": True, "seed": 5, "logprobs": True, "temperature": 1.0}

    async def under_way(count):
        while await router.get_total_inflight.remote() != count:
            await asyncio.sleep(0.01)

    async def cut_twice():
        await client.generate("first call", prompt_ids=PROMPT, sampling_params={**params, "max_tokens": 1})
        reply = asyncio.create_task(client.generate("id", prompt_ids=PROMPT, sampling_params=params))
        await under_way(1)
        await asyncio.sleep(0.1)
        await first.abort_all_requests.remote()
        await first.update_weights.remote(same_weights, 2)
        await first.resume_generation.remote()
        await under_way(0)
        await under_way(1)  # verl's client has paused for a second
        await router.remove_servers.remote(["first"])
        await router.add_servers.remote({"second": second})
        await first.abort_all_requests.remote(reject_request=True)
        await second.update_weights.remote(same_weights, 3)
        return await asyncio.wait_for(reply, 30)

    reply = asyncio.run(cut_twice())
    engine = GenerationEngine(random_model)
    whole = asyncio.run(engine.generate(PROMPT, ask(200)))
    engine.close()
    assert reply.token_ids == whole.token_ids
    assert reply.log_probs == whole.logprobs
    assert [reply.extra_fields[f"{end}_global_steps"] for end in ("min", "max")] == [1, 3]
    assert reply.stop_reason == "length"
