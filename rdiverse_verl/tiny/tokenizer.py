"""The tokenizer of the tiny world: whole words and single digits, bytes for everything else.

Each constant prompt of the papers is one token, so the tiny model gets the exact prompts and reads only some 40 tokens.
"""

import re

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from rdiverse_verl.roles import challenger, coder, solver
from rdiverse_verl.tiny.family import NAMES
from rdiverse_verl.tiny.problems import FAMILIES

END_OF_TURN, START_OF_TURN, PAD = "<|im_end|>", "<|im_start|>", "<|pad|>"
PROMPTS = (challenger.SYSTEM, challenger.USER, solver.SYSTEM, coder.INSTRUCTIONS)
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

# A piece: the opening of a box, a tag, an argument name, one digit, line breaks with an indent, a word, or one mark.
PIECE = r"\\boxed\{|</?[A-Za-z]+>| ?n[1-9](?![0-9A-Za-z_])| ?[0-9]|\n+ *| ?[A-Za-z_]+| ?[^\sA-Za-z0-9_]|\s"
CONTEXT_LENGTH = 512


def _texts() -> list[str]:
    """Every text whose pieces become tokens: the roles' formats, each wording and each program."""
    formats = ["system", "user", "assistant", "<question>\n</question>\n\n\\boxed{}", "<CODE>\n</CODE>"]
    marks = [f" {mark}" for mark in "0123456789+-*/%=<>()[]{},."] + ["+-*/%=<>"]
    wordings = [text for family in FAMILIES for text in family.templates.values()]
    programs = [family.program((0,) * 4) for family in FAMILIES]
    names = [f"{name} {name}" for name in NAMES]
    return formats + marks + names + wordings + programs


def _vocabulary() -> dict[str, int]:
    """Byte-level pieces by id: the 256 bytes first, so that any text can be encoded, then the pieces sorted."""
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    pieces = sorted({piece for text in _texts() for piece in re.findall(PIECE, text)})
    encoded = ["".join(part for part, _ in byte_level.pre_tokenize_str(piece)) for piece in pieces]
    return {token: i for i, token in enumerate(dict.fromkeys([*sorted(pre_tokenizers.ByteLevel.alphabet()), *encoded]))}


def build_tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer, the same on every call."""
    tokenizer = Tokenizer(models.BPE(vocab=_vocabulary(), merges=[], ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECE), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [AddedToken(t, normalized=False, special=True) for t in (PAD, START_OF_TURN, END_OF_TURN)]
    )
    tokenizer.add_tokens([AddedToken(prompt, normalized=False) for prompt in PROMPTS])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_OF_TURN,
        pad_token=PAD,
        chat_template=CHAT_TEMPLATE,
        model_max_length=CONTEXT_LENGTH,
        clean_up_tokenization_spaces=False,
    )
