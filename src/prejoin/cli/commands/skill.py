"""`prejoin skill`: skills that teach coding agents to use this command, listed, shown and installed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import click
import yaml

from prejoin.cli.command import command
from prejoin.cli.outcome import Line, Outcome
from prejoin.pipeline import codes
from prejoin.pipeline.errors import PipelineError, RefusedError
from prejoin.pipeline.output_files import check_outputs, write_file

_STEPS = ("access-patterns", "table-design", "query-interfaces")
FILE = "SKILL.md"


@dataclass(frozen=True, slots=True)
class Skill:
    name: str
    description: str
    text: str

    @property
    def place(self) -> Path:
        """Its path in the folder of skills: agents find a skill by the name of its folder."""
        return Path(self.name) / FILE


def skills() -> tuple[Skill, ...]:
    """All skills, in the order of the pipeline."""
    return tuple(_read(step) for step in _STEPS)


def _read(step: str) -> Skill:
    text = resources.files("prejoin.skills").joinpath(step, FILE).read_text(encoding="utf-8")
    about = yaml.safe_load(text.split("---\n")[1])
    return Skill(about["name"], about["description"], text)


@command("skill")
@click.argument("action", type=click.Choice(["list", "show", "install"]))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--to", type=click.Path(path_type=Path, file_okay=False), help="The folder of skills; see above.")
@click.option("--yes", is_flag=True, help="Overwrite existing files that differ.")
def skill(action: str, names: tuple[str, ...], to: Path | None, yes: bool) -> Outcome:
    """Skills that teach coding agents to use this command, one for each step.

    `list` lists them, `show` prints them, and `install` writes NAME/SKILL.md for each into a folder: that of --to, or
    .claude/skills if the project has a .claude folder, or .agents/skills. Without a NAME, all skills are taken. An
    existing file that differs is shown as a diff and is not overwritten without --yes.
    """
    chosen = _chosen(names)
    if action == "install":
        # A folder that the user names may be a link; in the folders of the project, no link is followed.
        return _install(chosen, to or _folder(), yes, base=to or Path())
    if to or yes:
        raise click.UsageError("`--to` and `--yes` are for `prejoin skill install`")
    if action == "show":
        page = "\n".join(one.text for one in chosen)
        return Outcome(result={"skills": [{"name": s.name, "text": s.text} for s in chosen]}, page=page)
    width = max(len(one.name) for one in chosen)
    lines: list[Line] = [[(one.name.ljust(width), "bold"), f"  {one.description}"] for one in chosen]
    return Outcome(result={"skills": [{"name": s.name, "description": s.description} for s in chosen]}, page=lines)


def _chosen(names: Sequence[str]) -> tuple[Skill, ...]:
    known = {one.name: one for one in skills()}
    wrong = next((name for name in names if name not in known), None)
    if wrong is not None:
        raise click.UsageError(f"there is no skill `{wrong}`; there are {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names)) or tuple(known.values())


def _folder() -> Path:
    return Path(".claude/skills") if Path(".claude").is_dir() else Path(".agents/skills")


def _install(chosen: Sequence[Skill], folder: Path, yes: bool, base: Path) -> Outcome:
    outputs = {one: (folder / one.place).relative_to(base) for one in chosen}
    check_outputs(base, outputs.values())
    found = {one: _there(folder / one.place) for one in chosen}
    changed = [one for one, text in found.items() if text is not None and text != one.text]
    if changed and not yes:
        # All or nothing: skills of two versions side by side would contradict each other.
        paths = ", ".join(str(folder / one.place) for one in changed)
        message = (
            f"{paths} {'exists' if len(changed) == 1 else 'exist'} and {'differs' if len(changed) == 1 else 'differ'}"
        )
        diff = "".join(_diff(folder / one.place, found[one] or "", one.text) for one in changed)
        fix = "look at the differences, then pass `--yes` to overwrite, or another folder with `--to`"
        raise RefusedError(codes.WOULD_OVERWRITE, f"{message}:\n{diff.rstrip()}", fix, str(folder))
    written = [one for one, text in found.items() if text != one.text]
    if written:
        try:
            base.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            message = f"{base} cannot be created: {problem.strerror or problem}"
            fix = "check the path and its permissions"
            raise PipelineError(codes.CANNOT_WRITE, message, fix, str(base)) from None
    for one in written:
        write_file(base, outputs[one], one.text)
    kept = [one for one in chosen if one not in written]
    notes = [
        *(f"wrote {folder / one.place}" for one in written),
        *(f"{folder / one.place} is up to date" for one in kept),
    ]
    result = {
        "folder": str(folder),
        "written": [str(folder / one.place) for one in written],
        "unchanged": [str(folder / one.place) for one in kept],
    }
    return Outcome(result=result, notes=tuple(notes))


def _there(path: Path) -> str | None:
    """The text of a file; None if there is none."""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        message = f"{path} cannot be read: {problem.strerror or problem}"
        raise PipelineError(codes.CANNOT_WRITE, message, "give another folder with `--to`") from None


def _diff(path: Path, before: str, after: str) -> str:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(old, new, str(path), "prejoin's", n=1))
