"""How many texts share a batch on the device that an encoder is given."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from rdiverse_verl.embedding import LengthAwareEncoder, load_encoder
from rdiverse_verl.embedding.device import texts_per_batch
from rdiverse_verl.embedding.encoder import Encoder
from rdiverse_verl.embedding.hashed import HashEncoder

MINILM_SHAPE = SimpleNamespace(hidden_size=384, num_attention_heads=12)
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def test_on_a_cpu_every_text_is_encoded_alone():
    assert texts_per_batch("cpu", 256, MINILM_SHAPE) == 1


@needs_gpu
def test_a_gpu_holds_fewer_long_texts_than_short_ones():
    short, long = (texts_per_batch("cuda:0", tokens, MINILM_SHAPE) for tokens in (64, 1 << 17))
    assert short > long >= 1


@needs_gpu
def test_a_gpu_gives_the_vectors_of_the_cpu():
    texts = [f"We add {i} to {i * i}." * (1 + i % 7) for i in range(200)]
    gpu, cpu = (load_encoder("all-MiniLM-L6-v2", device).encode(texts) for device in ("cuda:0", "cpu"))
    np.testing.assert_allclose(gpu, cpu, atol=1e-4)


def test_every_encoder_is_one():
    encoders: list[Encoder] = [HashEncoder(), LengthAwareEncoder(HashEncoder())]
    for encoder in encoders:
        assert encoder.encode(["a"]).shape == (1, encoder.dim)
        assert encoder.truncated == 0
