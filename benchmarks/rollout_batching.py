"""Tokens per second of 64 concurrent requests against the same 64 one after another.

The model is a random Qwen3 of 0.8 M parameters (4 layers, hidden size 128); every request generates 48 tokens.
"""

import argparse
import asyncio
import random
import tempfile
import time

import torch
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from rdiverse_verl.cpu.engine import GenerationEngine
from rdiverse_verl.cpu.options import SamplingOptions
from rdiverse_verl.cpu.request import Completion

REQUESTS = 64
NEW_TOKENS = 48
VOCABULARY = 256
TARGET = 5.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64")
    dtype = getattr(torch, parser.parse_args().dtype)
    requests = make_requests()
    with tempfile.TemporaryDirectory() as folder:
        parameters = save_random_model(folder)
        engine = GenerationEngine(folder, dtype=dtype, max_batch_size=REQUESTS)
        asyncio.run(concurrently(engine, requests[:4]))  # warm up
        batched_seconds, batched = timed(concurrently, engine, requests)
        single_seconds, single = timed(one_by_one, engine, requests)
        engine.close()
    tokens = REQUESTS * NEW_TOKENS
    ratio = single_seconds / batched_seconds
    print(f"{parameters / 1e6:.2f} M parameters, {dtype}, {torch.get_num_threads()} threads, {tokens} tokens")
    print(f"one after another  {single_seconds:6.2f} s  {tokens / single_seconds:8.0f} tokens/s")
    print(f"{REQUESTS} concurrent      {batched_seconds:6.2f} s  {tokens / batched_seconds:8.0f} tokens/s")
    print(f"ratio {ratio:.1f} (target {TARGET:g}); replies equal: {batched == single}")
    raise SystemExit(ratio < TARGET)


def make_requests() -> list[tuple[list[int], SamplingOptions]]:
    """Prompts of 20 to 60 tokens."""
    source = random.Random(0)
    return [
        (
            [source.randrange(VOCABULARY) for _ in range(source.randrange(20, 61))],
            SamplingOptions(max_tokens=NEW_TOKENS, ignore_eos=True, seed=seed),
        )
        for seed in range(REQUESTS)
    ]


def save_random_model(folder: str) -> int:
    """Write the model and a tokenizer to ``folder``; returns the number of parameters."""
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=352,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=512,
        tie_word_embeddings=True,
    )
    model = Qwen3ForCausalLM(config)
    model.save_pretrained(folder)
    vocabulary = {f"t{index}": index for index in range(VOCABULARY)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="t0"))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="t1").save_pretrained(folder)
    return model.num_parameters()


async def concurrently(engine: GenerationEngine, requests: list) -> list[Completion]:
    return await asyncio.gather(*(engine.generate(*request) for request in requests))


async def one_by_one(engine: GenerationEngine, requests: list) -> list[Completion]:
    return [await engine.generate(*request) for request in requests]


def timed(run, engine: GenerationEngine, requests: list) -> tuple[float, list[Completion]]:
    start = time.perf_counter()
    completions = asyncio.run(run(engine, requests))
    return time.perf_counter() - start, completions


if __name__ == "__main__":
    main()
