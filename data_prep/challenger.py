"""The Challenger's training prompts: one constant prompt, as many rows as a run draws (R-Diverse, App. A.2)."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from data_prep.prepare import positive
from rdiverse_verl.dataset import make_row, write_rows
from rdiverse_verl.roles import challenger

ROWS = 6 * 512  # six steps of 512 prompts, R-Zero's run


def prepare(folder: Path, rows: int = ROWS) -> None:
    """Write ``train.parquet``. There is no gold: the frozen Solver and the memory judge each sample."""
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(
        folder / "train.parquet",
        [
            make_row(
                data_source="rdiverse/challenger",
                prompt=challenger.messages(),
                ground_truth="",
                index=index,
                split="train",
                style="model",
            )
            for index in range(rows)
        ],
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--local_save_dir", type=Path, required=True, help="folder for the parquet file")
    parser.add_argument("--limit", type=positive, default=ROWS, help="rows to write")
    options = parser.parse_args(arguments)
    prepare(options.local_save_dir, options.limit)
    print(f"rdiverse/challenger train: {options.limit} rows written")


if __name__ == "__main__":
    main()
