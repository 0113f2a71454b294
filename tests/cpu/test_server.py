"""The HTTP server in a real process, against the ``openai`` client."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import openai
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rdiverse_verl.cpu.engine import GenerationEngine
from rdiverse_verl.cpu.options import SamplingOptions
from rdiverse_verl.seeds import derive_seed

ENVIRONMENT = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
QUESTION = [{"role": "user", "content": "1+1?"}]


def start(*arguments):
    command = [sys.executable, "-m", "rdiverse_verl.cpu.serve", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)


def refusal(*arguments):
    process = start(*arguments)
    output, errors = process.communicate(timeout=120)
    assert output == ""
    return process.returncode, errors


@pytest.fixture(scope="module")
def url(random_model):
    process = start("--model", random_model, "--served-model-name", "tiny")
    line = process.stdout.readline()
    assert re.fullmatch(r"listening on http://127\.0\.0\.1:\d+\n", line), line
    yield line.split()[-1]
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    assert errors == ""


@pytest.fixture(scope="module")
def client(url):
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=60)


@pytest.fixture(scope="module")
def tokenizer(random_model):
    return AutoTokenizer.from_pretrained(random_model)


def test_models_and_health(client, url):
    [model] = client.models.list().data
    assert model.id == "tiny"
    assert httpx.get(f"{url}/health").status_code == 200


def test_chat_logprobs_are_those_of_the_model(client, random_model, tokenizer):
    reply = client.chat.completions.create(model="tiny", messages=QUESTION, seed=5, max_tokens=12, logprobs=True)
    entries = reply.choices[0].logprobs.content
    prompt = tokenizer.apply_chat_template(QUESTION, add_generation_prompt=True, return_dict=False)
    tokens = tokenizer.convert_tokens_to_ids([entry.token for entry in entries])
    model = AutoModelForCausalLM.from_pretrained(random_model, dtype=torch.float64)
    with torch.no_grad():
        logprobs = model(torch.tensor([prompt + tokens])).logits[0, len(prompt) - 1 : -1].log_softmax(-1)
    expected = logprobs[torch.arange(len(tokens)), tokens].tolist()
    assert [entry.logprob for entry in entries] == pytest.approx(expected, abs=1e-5)
    assert reply.usage.prompt_tokens == len(prompt)
    assert reply.usage.completion_tokens == len(tokens)
    assert reply.usage.total_tokens == len(prompt) + len(tokens)
    assert tokenizer.decode(tokens, skip_special_tokens=True) == reply.choices[0].message.content


def test_n_samples_have_derived_seeds_and_repeat(client, random_model, tokenizer):
    def contents(**options):
        reply = client.chat.completions.create(model="tiny", messages=QUESTION, max_tokens=20, **options)
        return [choice.message.content for choice in reply.choices]

    four = contents(n=4, seed=11)
    assert len(set(four)) == 4
    assert contents(n=4, seed=11) == four
    assert contents(n=1, seed=11) == four[:1]
    assert contents(n=4, seed=12) != four
    prompt = tokenizer.apply_chat_template(QUESTION, add_generation_prompt=True, return_dict=False)
    options = [SamplingOptions(max_tokens=20, seed=derive_seed(11, j)) for j in range(4)]
    engine = GenerationEngine(random_model)
    drawn = [asyncio.run(engine.generate(prompt, option)).token_ids for option in options]
    engine.close()
    assert [tokenizer.decode(tokens, skip_special_tokens=True) for tokens in drawn] == four


def test_concurrent_seeded_requests_get_the_replies_they_get_alone(client):
    def content(seed):
        reply = client.completions.create(model="tiny", prompt=f"question {seed}", seed=seed, max_tokens=30)
        return reply.choices[0].text

    alone = [content(seed) for seed in range(16)]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(content, range(16))) == alone


def test_completions_take_text_and_token_ids_and_lists_of_them(client, tokenizer):
    texts = ["abc", "12"]
    ids = [tokenizer.encode(text) for text in texts]

    def ask(prompt, **options):
        reply = client.completions.create(model="tiny", prompt=prompt, temperature=0, max_tokens=8, **options)
        return [choice.text for choice in reply.choices]

    first, second = ask(texts[0]), ask(texts[1])
    assert first != second
    assert ask(ids[0]) == first
    assert ask(texts) == ask(ids) == first + second
    assert ask(texts, n=2) == first * 2 + second * 2


def test_completion_logprobs_and_default_length(client):
    reply = client.completions.create(model="tiny", prompt="abc", logprobs=0, seed=1, extra_body={"ignore_eos": True})
    [choice] = reply.choices
    assert len(choice.logprobs.tokens) == len(choice.logprobs.token_logprobs) == 16
    assert choice.finish_reason == "length"
    assert choice.logprobs.text_offset[:2] == [0, len(choice.logprobs.tokens[0])]


def test_stop_text_is_cut_off_and_stop_ids_end_a_reply(client, tokenizer):
    def ask(**options):
        extra = {"ignore_eos": True} | options.pop("extra", {})
        reply = client.completions.create(
            model="tiny", prompt="abc", seed=4, max_tokens=40, extra_body=extra, **options
        )
        return reply.choices[0]

    free = ask()
    assert free.finish_reason == "length"
    stop = free.text[8:10]
    stopped = ask(stop=[stop])
    assert stopped.finish_reason == "stop"
    assert stopped.text == free.text[: free.text.index(stop)]
    by_id = ask(extra={"stop_token_ids": tokenizer.encode(free.text[8])})
    assert by_id.finish_reason == "stop"
    assert by_id.text == free.text[: free.text.index(free.text[8]) + 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"extra_body": {"frobnicate": 1}}, "frobnicate"),
        ({"extra_body": {"guided_json": {}}}, "guided_json"),
        ({"presence_penalty": 0.5}, "presence_penalty"),
        ({"temperature": -1}, "temperature=-1"),
        ({"max_tokens": 10_000}, "max_tokens=10000 exceed max_model_len=256"),
        ({"n": 0}, "n=0"),
        ({"n": 1_000_000}, "n=1000000"),
        ({"logprobs": True, "top_logprobs": 3}, "top_logprobs=3"),
        ({"tools": []}, "tools"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "'messages'"),
        ({"messages": []}, "'messages'"),
    ],
)
def test_a_request_that_cannot_be_served_is_400_and_names_the_field(client, options, message):
    with pytest.raises(openai.BadRequestError, match=re.escape(message)) as error:
        client.chat.completions.create(**({"model": "tiny", "messages": QUESTION} | options))
    assert error.value.body["type"] == "invalid_request_error"


def test_streaming_is_refused_by_name(client):
    with pytest.raises(openai.BadRequestError, match="stream"):
        client.chat.completions.create(model="tiny", messages=QUESTION, stream=True)


@pytest.mark.parametrize("prompt", [None, [], [[]], "", {"a": 1}, [1.5], [10**9]])
def test_a_bad_prompt_is_400(url, prompt):
    reply = httpx.post(f"{url}/v1/completions", json={"prompt": prompt})
    assert reply.status_code == 400
    assert "prompt" in reply.json()["error"]["message"]


HOSTILE_BODIES = {
    "cut off": b"{",
    "a list": b"[1]",
    "no UTF-8": b"\xff",
    "nested too deep": b"[" * 100_000,
    "a number too long": b'{"prompt": "hi", "seed": ' + b"9" * 5000 + b"}",
    "beyond every float": b'{"prompt": "hi", "temperature": ' + b"9" * 400 + b"}",
    "half a surrogate pair": b'{"prompt": "\\ud800"}',
    "half a pair as stop": b'{"prompt": "hi", "stop": "\\ud800"}',
    "a denormal": b'{"prompt": "hi", "temperature": 1e-320}',
    "a top_k beyond integers": b'{"prompt": "hi", "top_k": 1180591620717411303424}',
}


@pytest.mark.parametrize("body", HOSTILE_BODIES.values(), ids=HOSTILE_BODIES)
def test_a_body_that_is_no_request_is_400(url, body):
    reply = httpx.post(f"{url}/v1/completions", content=body)
    assert reply.status_code == 400
    assert reply.json()["error"]["type"] == "invalid_request_error"


def test_another_model_and_another_route_are_404(client, url):
    with pytest.raises(openai.NotFoundError, match=r"'gpt'.*only 'tiny'"):
        client.chat.completions.create(model="gpt", messages=QUESTION)
    assert httpx.get(f"{url}/v1/nothing").json()["error"]["type"] == "invalid_request_error"


def test_what_keeps_the_server_from_starting_is_one_line(tmp_path, random_model, make_tokenizer):
    no_template = tmp_path / "no-template"
    AutoModelForCausalLM.from_pretrained(random_model).save_pretrained(no_template)
    make_tokenizer(chat_template=None).save_pretrained(no_template)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cases = [
            (["--model", random_model, "--port", port], f"cannot listen on 127.0.0.1:{port}: .*in use"),
            (["--model", tmp_path / "missing"], "model folder .*missing does not exist"),
            (["--model", tmp_path], "no config.json"),
            (["--model", no_template], "no-template has no chat template"),
        ]
        with ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(lambda case: refusal(*case[0]), cases))
    for (_, message), (code, errors) in zip(cases, outcomes, strict=True):
        assert code == 2
        assert re.fullmatch(f"error: .*{message}.*\n", errors), errors


def test_the_server_ends_when_its_parent_is_killed(random_model):
    starter = textwrap.dedent(f"""
        import subprocess, sys, threading, time
        def start():
            command = [sys.executable, "-m", "rdiverse_verl.cpu.serve", "--model", {str(random_model)!r}]
            server = subprocess.Popen(command)
            print(server.pid, flush=True)
        thread = threading.Thread(target=start)
        thread.start()
        thread.join()  # a thread that ends must not take the server with it
        time.sleep(600)
    """)
    parent = subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    server = int(parent.stdout.readline())
    url = parent.stdout.readline().split()[-1]
    assert httpx.get(f"{url}/health").status_code == 200
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while os.path.exists(f"/proc/{server}"):
        assert time.monotonic() < deadline, "the server outlived its parent"
        time.sleep(0.1)
