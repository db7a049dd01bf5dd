"""`prejoin build`: everything from the document."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, get_args

import click

from prejoin.cli.command import command, has_terminal
from prejoin.cli.documents import file_or_default
from prejoin.cli.outcome import Outcome
from prejoin.cli.output import show
from prejoin.pipeline.build.record import BuildRecord, read_record, up_to_date
from prejoin.pipeline.build.settings import Language, Overrides, misnamed, settings_text
from prejoin.pipeline.document import DOCUMENT
from prejoin.pipeline.summary import proven_summary, quantity
from prejoin.render.python.entities import Style


@command("build", format_aware=True)
@click.argument("document", required=False, type=click.Path())
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--check", is_flag=True, help="Write nothing; fail if document, design and code do not match.")
@click.option("--replace", is_flag=True, help="Replace changes by hand in the design document.")
@click.option("--diff", "diffs", is_flag=True, help="Show the changes of each file.")
@click.option("--prune", is_flag=True, help="Delete files of earlier builds that are not generated any more.")
@click.option("--style", type=click.Choice(get_args(Style)), help="The kind of entity classes (default: dataclass).")
@click.option("--package", help="The name of the Python package (default: from the title).")
@click.option(
    "--infrastructure",
    multiple=True,
    type=click.Choice([*get_args(Language), "none"]),
    help="What deploys the table; may be given several times (default: cloudformation).",
)
@click.option("--workbench/--no-workbench", default=None, help="Whether to write a NoSQL Workbench model.")
@click.option("--tests/--no-tests", default=None, help="Whether to run the generated tests (default: yes).")
@click.option(
    "--allow-unproven/--no-allow-unproven",
    default=None,
    help="Whether to build patterns that the proof cannot run, marked as not proven (default: no).",
)
def build(
    document: str | None,
    yes: bool,
    check: bool,
    replace: bool,
    diffs: bool,
    prune: bool,
    style: Style | None,
    package: str | None,
    infrastructure: tuple[str, ...],
    workbench: bool | None,
    tests: bool | None,
    allow_unproven: bool | None,
    as_json: bool,
) -> Outcome:
    """Generate everything from DOCUMENT (access-patterns.md): the design, proven, and typed Python with tests.

    Files are written beside the document. Files that somebody changed by hand are never overwritten. A design with the
    status APPROVED, or made with `design --keep`, keeps its keys, and new parts are added to it. Put these options, and
    more about the table and its roles, into prejoin.toml beside the document to make them permanent. A build without
    options uses those of the last build, unless prejoin.toml overrides them.
    """
    if check and (yes or prune):
        raise click.UsageError("`--check` writes nothing: leave out `--yes` and `--prune`")
    if package and (wrong := misnamed(package)):
        raise click.UsageError(f"--package: {wrong}")
    languages = tuple(name for name in get_args(Language) if name in infrastructure)
    infrastructure_languages = languages if infrastructure else None
    options = Overrides(style, package or None, infrastructure_languages, workbench, tests, allow_unproven)
    path = Path(document or DOCUMENT)
    overrides = options.with_remembered(read_record(path.parent).options, settings_text(path.parent))
    if not (check or diffs) and (record := up_to_date(path, overrides)):
        return _nothing_to_do(path, record)
    return _build(file_or_default(document), overrides, yes, check, replace, diffs, prune, as_json)


def _nothing_to_do(document: Path, record: BuildRecord) -> Outcome:
    result: dict[str, Any] = {
        "document": str(document),
        "files": [{"path": path, "state": "same", "reason": ""} for path in sorted(record.files)],
        "keys": [],
        "growth": None,
        "served": record.served,
        "proven": not record.unproven,
        "unproven": [{"pattern": pattern, "reason": reason} for pattern, reason in record.unproven.items()],
        "written": False,
        "next": [],
    }
    page = f"{quantity(len(record.files), 'file')} up to date"
    if record.unproven:
        page += f"; {proven_summary(record.served, list(record.unproven))}"
    return Outcome(result=result, page=[(page,)])


def _build(
    file: str, overrides: Overrides, yes: bool, check: bool, replace: bool, diffs: bool, prune: bool, as_json: bool
) -> Outcome:
    # The designer takes longer to load than finding out that there is nothing to do.
    from prejoin.cli.progress import ProgressSteps
    from prejoin.cli.prompt.line import ask
    from prejoin.cli.text.build import BuildFlags, build_json, build_outcome, build_page
    from prejoin.pipeline.build.build import build_project

    flags = BuildFlags(check, diffs, prune)
    with ProgressSteps(as_json) as steps:
        plan = build_project(file, overrides=overrides, redesign=check, replace_design=replace, progress=steps)
    has_changes = bool(plan.writable) or (prune and bool(plan.deletable))
    confirm = not (yes or check or as_json or plan.stuck) and has_terminal() and has_changes
    write = yes and not plan.stuck
    if confirm:
        show(build_page(plan, flags, is_written=False), sys.stderr)
        write = ask("Write the files?")
        plan = plan.again()
        if not write:
            return Outcome(result=build_json(plan, flags, False), notes=("nothing was written",))
    if write:
        with ProgressSteps(as_json) as steps:
            steps.begin("writing", "write")
            plan.write(prune)
            steps.result(f"{quantity(len(plan.writable), 'file')} in {plan.product.folder}")
    return build_outcome(plan, flags, write, is_shown=confirm)
