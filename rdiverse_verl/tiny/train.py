"""Train the base model from nothing: ``python -m rdiverse_verl.tiny.train --out DIR``.

Deterministic: on one machine two runs with the same arguments write the same bytes.
"""

import argparse
import hashlib
import json
import time
from functools import partial
from pathlib import Path
from random import Random

import torch
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import LambdaLR
from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen3ForCausalLM

from rdiverse_verl.seeds import derive_seed
from rdiverse_verl.tiny.dialogues import ROLES, Role, render_prompt
from rdiverse_verl.tiny.model import model_config
from rdiverse_verl.tiny.scores import format_scores, score
from rdiverse_verl.tiny.tokenizer import build_tokenizer

STEPS = 900
SEQUENCES_PER_SHARE = 4
MUON_LEARNING_RATE = 0.02
ADAMW_LEARNING_RATE = 5e-3
IGNORED = -100


def role_batch(tokenizer: PreTrainedTokenizerFast, role: Role, rng: Random) -> tuple[torch.Tensor, torch.Tensor]:
    """Right-padded ``ids_B_T`` and ``labels_B_T``; only the replies and the end of turn after them have labels."""
    ids, labels = [], []
    for _ in range(role.share * SEQUENCES_PER_SHARE):
        problem = role.sample(rng)
        prompt = tokenizer.encode(render_prompt(tokenizer, role, problem))
        reply = [*tokenizer.encode(role.reply(problem)), tokenizer.eos_token_id]
        ids.append(torch.tensor(prompt + reply))
        labels.append(torch.tensor([IGNORED] * len(prompt) + reply))
    pad = torch.nn.utils.rnn.pad_sequence
    return pad(ids, True, tokenizer.pad_token_id), pad(labels, True, IGNORED)


def build_optimizers(model: Qwen3ForCausalLM) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the layers, AdamW for the embedding and the norms."""
    matrices = [p for p in model.model.layers.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if all(p is not matrix for matrix in matrices)]
    return [
        torch.optim.Muon(matrices, lr=MUON_LEARNING_RATE, weight_decay=0.0),
        torch.optim.AdamW(others, lr=ADAMW_LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def learning_rate_factor(step: int, steps: int) -> float:
    """Linear warm-up over the first twentieth, then linear to zero."""
    return min((step + 1) / (0.05 * steps), (steps - step) / (0.95 * steps), 1.0)


def train(tokenizer: PreTrainedTokenizerFast, seed: int, steps: int) -> Qwen3ForCausalLM:
    """A model trained for ``steps`` steps on fresh problems, with progress on the terminal."""
    # The number of threads decides the order of sums, hence the bits. For matrices this small one is nearly as fast.
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(derive_seed(seed, "weights"))
    model = Qwen3ForCausalLM(model_config(tokenizer)).train()
    optimizers = build_optimizers(model)
    schedules = [LambdaLR(optimizer, partial(learning_rate_factor, steps=steps)) for optimizer in optimizers]
    shares = sum(role.share for role in ROLES.values())
    started = time.monotonic()
    for step in range(1, steps + 1):
        losses = {}
        for name, role in ROLES.items():
            ids_B_T, labels_B_T = role_batch(tokenizer, role, Random(derive_seed(seed, name, step)))
            # Padding is on the right, behind every label, so the causal mask alone is enough.
            logits_B_T_V = model(input_ids=ids_B_T[:, :-1]).logits
            loss = cross_entropy(logits_B_T_V.flatten(0, 1), labels_B_T[:, 1:].flatten(), ignore_index=IGNORED)
            (loss * role.share / shares).backward()
            losses[name] = loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, schedule in zip(optimizers, schedules, strict=True):
            optimizer.step()
            schedule.step()
        model.zero_grad()
        if step % 25 == 0 or step == steps:
            elapsed = time.monotonic() - started
            shown = ", ".join(f"{name} {value:.3f}" for name, value in losses.items())
            left = elapsed / step * (steps - step)
            print(f"step {step}/{steps}  loss {shown}  {elapsed:.0f} s, {left:.0f} s left", flush=True)
    return model.eval()


def save(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, out: Path) -> str:
    """Write the Hugging Face folder; the sha256 of its weights."""
    model.generation_config = GenerationConfig(
        do_sample=True, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    return hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the tiny world's base model.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write the model to")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    args = parser.parse_args()

    tokenizer = build_tokenizer()
    model = train(tokenizer, args.seed, args.steps)
    weights_sha256 = save(model, tokenizer, args.out)
    scores = {"seed": args.seed, "steps": args.steps, "weights_sha256": weights_sha256, **score(model, tokenizer)}
    (args.out / "scores.json").write_text(json.dumps(scores, indent=2) + "\n")
    print(format_scores(scores))


if __name__ == "__main__":
    main()
