"""A random Qwen3 of 0.2 M parameters with a character tokenizer and a chat template, made once per test session."""

import pytest

CHARACTERS = [chr(code) for code in range(32, 127)] + ["\n"]
SPECIALS = ["<pad>", "<eos>", "<user>", "<assistant>", "<unk>"]
CHAT_TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}<eos>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="session")
def make_tokenizer():
    """Build the character tokenizer, with or without its chat template."""

    def make(chat_template=CHAT_TEMPLATE):
        from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
        from transformers import PreTrainedTokenizerFast

        vocabulary = {token: index for index, token in enumerate(SPECIALS + CHARACTERS)}
        core = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
        core.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        core.decoder = decoders.Fuse()
        return PreTrainedTokenizerFast(
            tokenizer_object=core,
            pad_token="<pad>",
            eos_token="<eos>",
            unk_token="<unk>",
            additional_special_tokens=["<user>", "<assistant>"],
            chat_template=chat_template,
        )

    return make


@pytest.fixture(scope="session")
def random_model(tmp_path_factory, make_tokenizer):
    """Folder of the model. Its end-of-sequence ids: ``<eos>`` by the tokenizer, ``~`` by the generation config."""
    import torch
    from transformers import GenerationConfig, Qwen3Config, Qwen3ForCausalLM

    tokenizer = make_tokenizer()
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=192,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        initializer_range=0.1,
    )
    model = Qwen3ForCausalLM(config)
    model.generation_config = GenerationConfig(eos_token_id=tokenizer.convert_tokens_to_ids("~"))
    path = tmp_path_factory.mktemp("model") / "random-qwen3"
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path
