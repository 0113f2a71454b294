from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from rdiverse_verl.roles import challenger, coder, solver
from rdiverse_verl.tiny import base_model_path, sample_problem
from rdiverse_verl.tiny.dialogues import ROLES, render_prompt
from rdiverse_verl.tiny.tokenizer import build_tokenizer

TOKENIZER = build_tokenizer()


def test_taught_texts_survive_encoding_and_fit_their_limits():
    rng = Random(2)
    for _ in range(300):
        problem = sample_problem(rng)
        for role in ROLES.values():
            prompt, reply = render_prompt(TOKENIZER, role, problem), role.reply(problem)
            for text in (prompt, reply, prompt + reply):
                assert TOKENIZER.decode(TOKENIZER.encode(text)) == text
            assert len(TOKENIZER.encode(prompt)) <= 64
            assert len(TOKENIZER.encode(reply)) < role.max_new_tokens
            assert TOKENIZER.encode(prompt) + TOKENIZER.encode(reply) == TOKENIZER.encode(prompt + reply)


@given(st.text())
def test_any_text_survives_encoding(text):
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


@pytest.mark.parametrize("prompt", [challenger.SYSTEM, challenger.USER, solver.SYSTEM, coder.INSTRUCTIONS])
def test_a_constant_prompt_is_one_token(prompt):
    assert len(TOKENIZER.encode(prompt)) == 1


def test_question_words_and_digits_are_one_token_each():
    tokens = [TOKENIZER.decode(i) for i in TOKENIZER.encode("What is the digit sum of 678?")]
    assert tokens == ["What", " is", " the", " digit", " sum", " of", " 6", "7", "8", "?"]


def test_shipped_folder_holds_this_tokenizer():
    shipped = AutoTokenizer.from_pretrained(base_model_path())
    assert shipped.get_vocab() == TOKENIZER.get_vocab()
    assert shipped.chat_template == TOKENIZER.chat_template
    assert (shipped.eos_token, shipped.pad_token) == ("<|im_end|>", "<|pad|>")
    for text in ("Given 12x + 7 = 31, find x.", "def solver(n1=12):\n    return n1", "naïve  \t証明\n\n"):
        assert shipped.encode(text) == TOKENIZER.encode(text)
        assert shipped.decode(shipped.encode(text)) == text
    for messages in (challenger.messages(), solver.messages("What is {x}?"), coder.messages("q")):
        assert shipped.apply_chat_template(messages, tokenize=False) == TOKENIZER.apply_chat_template(
            messages, tokenize=False
        )
