"""A training phase's last checkpoint as a Hugging Face folder, which the next phases serve and start from."""

import shutil

from rdiverse_verl.errors import StateError
from rdiverse_verl.selfplay.training import CHECKPOINTS, checkpointed_step
from rdiverse_verl.selfplay.work import Outcome, Work

MODEL = "model"


def export(work: Work, trained: str) -> Outcome:
    """Copy the Hugging Face part of the checkpoint, then let the checkpoints go: nothing reads them any more."""
    training = work.earlier(work.iteration, trained)
    step = checkpointed_step(training)
    source = training / CHECKPOINTS / f"global_step_{step}" / "actor" / "huggingface"
    if not any(source.glob("*.safetensors")):
        raise StateError(f"{source} holds no weights; remove {training} to train again")
    shutil.copytree(source, work.folder / MODEL)
    return Outcome([MODEL], {"step": step})
