"""The ``rdiverse`` command."""

import sys
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from rdiverse_verl.errors import ConfigError, RdiverseError

app = typer.Typer(
    help="Self-play and diversity methods on stock verl.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

data = typer.Typer(help="Check data files.", no_args_is_help=True)
app.add_typer(data, name="data")


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Check this machine: versions, plug-in names in a fresh process, devices, Ray, disk and memory."""
    from rdiverse_verl.doctor import examine, print_findings

    findings = examine()
    print_findings(findings, as_json)
    if not findings["ok"]:
        raise typer.Exit(1)


@app.command()
def selfplay(
    config: Annotated[Path, typer.Argument(help="A recipe, e.g. recipes/tiny/selfplay.yaml.")],
    overrides: Annotated[list[str] | None, typer.Argument(help="key=value, key.sub=value ...")] = None,
    run_dir: Annotated[Path, typer.Option(help="Where the run lives; an unfinished run continues.")] = Path(
        "runs/selfplay"
    ),
    stop_after: Annotated[str | None, typer.Option(help="Stop after a phase, e.g. 1:label.")] = None,
) -> None:
    """Run R-Diverse self-play, or continue it."""
    from rdiverse_verl.config import load_settings
    from rdiverse_verl.selfplay.driver import run_selfplay
    from rdiverse_verl.selfplay.settings import SelfPlay

    settings = load_settings(SelfPlay, config, overrides)
    try:
        run_selfplay(settings, run_dir.absolute(), stop_after)
    except KeyboardInterrupt:
        print("\nrdiverse: stopped; the same command continues", file=sys.stderr)
        raise typer.Exit(130) from None


@app.command()
def grade(
    jsonl: Annotated[Path, typer.Option(help='Lines of {"prediction": ..., "gold": ...}.')],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Where verdict lines go.")] = None,
    stats: Annotated[bool, typer.Option("--stats", help="Print counters on standard error.")] = False,
    form: Annotated[
        str,
        typer.Option(help="Where the answer is: box (the last), line (also 'Answer:'), bare (also the whole text)."),
    ] = "bare",
) -> None:
    """Grade predictions; one verdict line each, in the same order."""
    from rdiverse_verl.grading.command import grade_file
    from rdiverse_verl.grading.extraction import Form

    if form not in get_args(Form):
        raise ConfigError(f"--form {form!r} is none of {', '.join(get_args(Form))}")
    grade_file(jsonl, out, stats, cast(Form, form))


@data.command()
def verify(
    file: Annotated[Path, typer.Argument(help="A parquet file in verl's columns.")],
    tokenizer: Annotated[
        Path | None, typer.Option(help="A folder: check its chat template and prompt lengths.")
    ] = None,
    max_prompt_tokens: Annotated[int | None, typer.Option(help="Count prompts longer than this.")] = None,
) -> None:
    """Check a file's schema, its prompts, and that the grader finds every gold equal to itself."""
    from rich.console import Console

    from data_prep.verify import print_findings, verify

    findings = verify(file, tokenizer, max_prompt_tokens)
    print_findings(findings, Console())
    if not findings.ok:
        raise typer.Exit(1)


@data.command()
def leak(
    train: Annotated[Path, typer.Argument(help="Training rows.")],
    evaluation: Annotated[Path, typer.Argument(help="Rows that must not be among them.")],
    threshold: Annotated[float, typer.Option(help="Jaccard similarity of word triples that counts as near.")] = 0.7,
) -> None:
    """Report questions of one file that are in another, exactly or nearly."""
    from rich.console import Console

    from data_prep.leak import find_leak, print_leak

    print_leak(find_leak(train, evaluation, threshold), Console())


@app.command()
def status(run_dir: Annotated[Path, typer.Argument(help="A run directory.")]) -> None:
    """Show how far a run is and what it has found."""
    from rich.console import Console

    from rdiverse_verl.selfplay.state import print_status, run_settings
    from rdiverse_verl.selfplay.summary import print_summary, summarise

    console = Console()
    settings = run_settings(run_dir)
    print_status(run_dir, settings, console)
    print_summary(summarise(run_dir, settings), console)


def main() -> None:
    """Entry point: an error raised on purpose is one message and exit code 2, not a traceback."""
    try:
        app()
    except RdiverseError as error:
        print(f"rdiverse: {error}", file=sys.stderr)
        raise SystemExit(2) from error
    except OSError as error:  # a full disk, a folder that may not be written
        print(f"rdiverse: {error}", file=sys.stderr)
        raise SystemExit(2) from error
