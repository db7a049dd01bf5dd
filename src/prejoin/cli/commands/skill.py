"""`prejoin skill`: skills that teach coding agents to use this command, listed, shown and installed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import click
import yaml

from prejoin.cli.command import command
from prejoin.cli.outcome import Line, Outcome
from prejoin.pipeline import codes
from prejoin.pipeline.errors import PipelineError, RefusedError
from prejoin.pipeline.output_files import check_outputs, make_folder, write_file

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
    selected_skills = _select_skills(names)
    if action == "install":
        # A folder that the user names may be a link; in the folders of the project, no link is followed.
        return _install(selected_skills, to or _folder(), yes, base=to or Path())
    if to or yes:
        raise click.UsageError("`--to` and `--yes` are for `prejoin skill install`")
    if action == "show":
        data = [{"name": item.name, "text": item.text} for item in selected_skills]
        return Outcome(result={"skills": data}, page="\n".join(item.text for item in selected_skills))
    width = max(len(item.name) for item in selected_skills)
    lines: list[Line] = [[(item.name.ljust(width), "bold"), f"  {item.description}"] for item in selected_skills]
    data = [{"name": item.name, "description": item.description} for item in selected_skills]
    return Outcome(result={"skills": data}, page=lines)


def _select_skills(names: Sequence[str]) -> tuple[Skill, ...]:
    """The skills of these names; all without names."""
    by_name = {item.name: item for item in skills()}
    wrong = next((name for name in names if name not in by_name), None)
    if wrong is not None:
        raise click.UsageError(f"there is no skill `{wrong}`; there are {', '.join(by_name)}")
    return tuple(by_name[name] for name in dict.fromkeys(names)) or tuple(by_name.values())


def _folder() -> Path:
    return Path(".claude/skills") if Path(".claude").is_dir() else Path(".agents/skills")


def _install(selected_skills: Sequence[Skill], folder: Path, yes: bool, base: Path) -> Outcome:
    outputs = {item: (folder / item.place).relative_to(base) for item in selected_skills}
    check_outputs(base, outputs.values())
    texts = {item: _text_of(folder / item.place) for item in selected_skills}
    if not yes:
        _refuse_to_overwrite(texts, folder)
    skills_to_write = [item for item, text in texts.items() if text != item.text]
    if skills_to_write:
        make_folder(base)
    for item in skills_to_write:
        write_file(base, outputs[item], item.text)
    files = [str(folder / item.place) for item in skills_to_write]
    unchanged_files = [str(folder / item.place) for item in selected_skills if item not in skills_to_write]
    notes = [*(f"wrote {file}" for file in files), *(f"{file} is up to date" for file in unchanged_files)]
    result = {"folder": str(folder), "written": files, "unchanged": unchanged_files}
    return Outcome(result=result, notes=tuple(notes))


def _refuse_to_overwrite(texts: Mapping[Skill, str | None], folder: Path) -> None:
    """Refuses all if one file differs: skills of two versions side by side would contradict each other."""
    conflicts = {item: text for item, text in texts.items() if text is not None and text != item.text}
    if not conflicts:
        return
    paths = ", ".join(str(folder / item.place) for item in conflicts)
    verbs = "exists and differs" if len(conflicts) == 1 else "exist and differ"
    diff = "".join(_diff(folder / item.place, text, item.text) for item, text in conflicts.items())
    fix = "look at the differences, then pass `--yes` to overwrite, or another folder with `--to`"
    raise RefusedError(codes.WOULD_OVERWRITE, f"{paths} {verbs}:\n{diff.rstrip()}", fix, str(folder))


def _text_of(path: Path) -> str | None:
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
