"""The base model's architecture."""

from transformers import PreTrainedTokenizerFast, Qwen3Config

from rdiverse_verl.tiny.tokenizer import CONTEXT_LENGTH


def model_config(tokenizer: PreTrainedTokenizerFast) -> Qwen3Config:
    """A Qwen3 of some 0.7 M parameters, its vocabulary exactly the tokenizer's."""
    return Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=CONTEXT_LENGTH,
        tie_word_embeddings=True,
        dtype="float32",
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
