"""`prejoin build`: everything from the document. Here is what is asked, and whether there is anything to do."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from prejoin.cli.command import command
from prejoin.cli.outcome import Outcome
from prejoin.cli.text.messages import counted
from prejoin.pipeline.examples import DOCUMENT
from prejoin.pipeline.record import is_current, read_record, source_of, text_at
from prejoin.pipeline.settings import Language, Overrides, Style, misnamed, settings_text


@command("build")
@click.argument("document", required=False, type=click.Path())
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--check", is_flag=True, help="Write nothing; fail when document, design and code disagree.")
@click.option("--diff", "diffs", is_flag=True, help="Show what would change in each file.")
@click.option("--prune", is_flag=True, help="Delete what earlier builds wrote and nothing asks for any more.")
@click.option("--style", type=click.Choice(get_args(Style)), help="What entities are; dataclass if not said.")
@click.option("--package", help="The name of the Python package; made from the title if not said.")
@click.option(
    "--infrastructure",
    multiple=True,
    type=click.Choice([*get_args(Language), "none"]),
    help="What deploys the table; may be given several times. cloudformation if not said.",
)
@click.option("--workbench/--no-workbench", default=None, help="Whether to write a model for NoSQL Workbench, too.")
@click.option("--tests/--no-tests", default=None, help="Whether to run the generated tests; they are run if not said.")
def build(
    document: str | None,
    yes: bool,
    check: bool,
    diffs: bool,
    prune: bool,
    style: Style | None,
    package: str | None,
    infrastructure: tuple[str, ...],
    workbench: bool | None,
    tests: bool | None,
    as_json: bool,
) -> Outcome:
    """Make everything from DOCUMENT (access-patterns.md): the design, proven, and typed Python with tests.

    Files are written beside the document. What is as it was is left alone, and what somebody changed by hand is never
    written over. A design with the status APPROVED stays as it is, and what is new is added to it. What these options
    say, and more about the table and who may use it, can be said for good in prejoin.toml, beside the document. The
    next build without options takes those of the last one, unless prejoin.toml says otherwise.
    """
    if check and (yes or prune):
        raise click.UsageError("`--check` writes nothing: leave out `--yes` and `--prune`")
    if package and (wrong := misnamed(package)):
        raise click.UsageError(f"--package: {wrong}")
    languages = tuple(name for name in get_args(Language) if name in infrastructure)
    given = Overrides(style, package or None, languages if infrastructure else None, workbench, tests)
    folder = Path(document or DOCUMENT).parent
    overrides = given.with_remembered(read_record(folder).options, settings_text(folder))
    if not (check or diffs) and (outcome := _nothing_to_do(Path(document or DOCUMENT), overrides)):
        return outcome
    # What makes things takes longer to load than all of the above takes.
    from prejoin.pipeline.build import build_all
    from prejoin.pipeline.build_plan import Asked

    return build_all(document, Asked(yes, check, diffs, prune, as_json, overrides))


def _nothing_to_do(document: Path, overrides: Overrides) -> Outcome | None:
    """What to say where all is as it was made, from the same."""
    folder, text = document.parent, text_at(document)
    record = read_record(folder)
    if text is None or not is_current(folder, record, source_of(text, settings_text(folder), overrides)):
        return None
    files = [{"path": path, "state": "same", "reason": ""} for path in sorted(record.files)]
    result = {
        "document": str(document),
        "files": files,
        "keys": [],
        "growth": None,
        "served": record.served,
        "proven": True,
        "written": False,
        "next": [],
    }
    return Outcome(result=result, page=[(f"{counted(len(files), 'file')}, all as {document} wants them",)])
