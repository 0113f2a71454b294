"""What every iteration reads and no iteration changes: the Challenger's prompts, and the centre of the skill space."""

from rdiverse_verl.dataset import make_row, write_rows
from rdiverse_verl.roles import challenger
from rdiverse_verl.selfplay.skillspace import write_centre
from rdiverse_verl.selfplay.work import CENTRE, Outcome, Work

PROMPTS = "challenger_prompts.parquet"


def run(work: Work) -> Outcome:
    """One step's worth of rows, all the same constant prompt: the Challenger has no data (R-Zero)."""
    common = {"data_source": "rdiverse/challenger", "ground_truth": "", "split": "train", "style": "model"}
    rows = [
        make_row(prompt=challenger.messages(), index=index, **common)
        for index in range(work.settings.challenger.prompts_per_step)
    ]
    write_rows(work.folder / PROMPTS, rows)
    outputs = [PROMPTS]
    if work.centre:
        write_centre(work.settings.skill, work.centre)
        outputs.append(CENTRE)
    return Outcome(outputs, {"prompts": len(rows)})
