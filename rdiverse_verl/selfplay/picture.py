"""A run in one picture: accuracy, valid rate, penalties and memory per iteration."""

from pathlib import Path
from typing import Any

PANELS = [
    (
        "Solver",
        {
            "accuracy": "held-out accuracy",
            "first_match_rate": "matches the vote, first step",
            "last_match_rate": "matches the vote, last step",
        },
    ),
    ("Challenger", {"valid_rate": "valid rate", "mean_p_hat": "mean p̂"}),
    ("Penalties", {"p_rep": "P_rep", "p_map": "P_MAP"}),
    ("Memory", {"memory_size": "questions"}),
]


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the iterations' figures into a PNG; what an iteration does not have yet is left out."""
    import matplotlib  # slow to import, and only this function needs it

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(PANELS), figsize=(3.4 * len(PANELS), 3), layout="constrained")
    for axis, (title, series) in zip(axes, PANELS, strict=True):
        for key, name in series.items():
            points = [(row["iteration"], row[key]) for row in rows if row.get(key) is not None]
            if points:
                axis.plot(*zip(*points, strict=True), marker="o", label=name)
        axis.set_title(title)
        axis.set_xlabel("iteration")
        axis.set_xticks([row["iteration"] for row in rows])
        axis.set_xlim(rows[0]["iteration"] - 0.25, rows[-1]["iteration"] + 0.25)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        if axis.has_data():
            axis.legend(fontsize="small")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
