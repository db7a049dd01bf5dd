"""Messages name commands that the user can run, and commands need only the extras that they use."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from prejoin.cli import install_command
from prejoin.cli.invocation import invocation, runnable
from prejoin.cli.run import cli

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "examples" / "shop" / "access-patterns.md"
_BLOCK = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
sys.argv[0] = "prejoin"
from prejoin.cli import main
main()
"""


def _without(blocked: tuple[str, ...], *arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-c", _BLOCK.format(blocked=blocked), *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, timeout=60, cwd=cwd, check=False)


def _script(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\nfrom prejoin.cli import main\nmain()\n", "utf-8")
    path.chmod(0o755)
    return path


# --- The solver is optional -----------------------------------------------------------------------------------------

SOLVER = ("highspy", "numpy")
_NEEDS_SOLVER = ("design", "build", "demo")


@pytest.mark.everyday(2)
@pytest.mark.parametrize("name", cli.names)
def test_help_of_every_command_without_solver(name: str) -> None:
    ran = _without(SOLVER, name, "--help")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(f"Usage: prejoin {name}")


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", SHOP),
        ("check", SHOP.with_name("table-design.md")),
        ("convert", SHOP, "--to", "json"),
        ("convert", SHOP.with_name("table-design.md"), "--to", "yaml"),
        ("explain", "PJ120"),
        ("schema",),
        ("init", "new.md"),
        ("query", "AP-001", "--for", SHOP),  # the design exists
    ],
    ids=lambda arguments: f"{arguments[0]}-{Path(arguments[-1]).name}",
)
def test_commands_that_choose_no_keys_run_without_solver(arguments: tuple[object, ...], tmp_path: Path) -> None:
    ran = _without(SOLVER, *arguments, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.everyday(1)
@pytest.mark.parametrize("name", _NEEDS_SOLVER)
def test_missing_solver_is_named_with_install_command(name: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "teams" / SHOP.name, tmp_path)
    ran = _without(SOLVER, name, SHOP.name, cwd=tmp_path)
    assert ran.returncode == 3
    assert "error PJ002: this needs `highspy`, which is not installed" in ran.stderr
    assert install_command("design") in ran.stderr


@pytest.mark.everyday(2)
@pytest.mark.parametrize(("name", "extra"), [("serve", "cli"), ("check", "cli"), ("design", "design"), ("", "design")])
def test_missing_command_line_names_the_smallest_extra(name: str, extra: str) -> None:
    ran = _without(("click",), *([name] if name else []))
    assert ran.returncode == 3
    assert ran.stderr.rstrip().endswith(install_command(extra))


def test_extras_list_exactly_the_imported_packages() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    names = {name: {re.split(r"[><=\[]", one)[0] for one in wanted} for name, wanted in extras.items()}
    assert names["cli"] == {"click", "markdown-it-py", "pyyaml", "rich"}
    assert names["design"] == {"prejoin", "highspy"}
    modules = {"markdown-it-py": "markdown_it", "pyyaml": "yaml"}
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    for name in names["cli"] | (names["design"] - {"prejoin"}):
        assert re.search(rf"^\s*(?:import|from) {modules.get(name, name)}\b", source, re.MULTILINE), name


# --- Installing an extra --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_page_installs_from_a_clone() -> None:
    """Until there is a release `pip install 'prejoin[design]'` fails; a release changes `install_command` and these."""
    folders = ("src", "docs", "examples", "benchmarks", "scripts")
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    pages += [
        path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in {".md", ".py", ".toml"}
    ]
    assert len(pages) > 100
    wrong = re.compile(r"""(?:install|add)\s+['"]?prejoin\b|(?<![/\w])prejoin\[""")
    found = [f"{path.relative_to(ROOT)}: {hit[0]}" for path in pages for hit in wrong.finditer(path.read_text("utf-8"))]
    assert found == []
    assert install_command("design") in (ROOT / "README.md").read_text("utf-8")


# --- Calling the command --------------------------------------------------------------------------------------------


def test_command_on_the_path_is_called_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = _script(tmp_path / "bin" / "prejoin")
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.setenv("PATH", str(script.parent))
    assert invocation() == "prejoin"


@pytest.mark.parametrize(("cwd", "called"), [("", "venv/bin/prejoin"), ("sub", "{}/venv/bin/prejoin")])
def test_command_beside_the_path_is_called_by_its_path(
    cwd: str, called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = _script(tmp_path / "venv" / "bin" / "prejoin")
    other = _script(tmp_path / "other" / "prejoin")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / cwd)
    monkeypatch.setattr(sys, "argv", [str(script)])
    for path in (os.defpath, str(other.parent)):  # not on the path, or another one is
        monkeypatch.setenv("PATH", path)
        assert invocation() == called.format(tmp_path)


def test_path_with_a_space_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = _script(tmp_path / "my env" / "prejoin")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setattr(sys, "argv", [str(script)])
    assert invocation() == "'my env/prejoin'"
    assert runnable("see `prejoin explain PJ100`") == "see `'my env/prejoin' explain PJ100`"
    assert runnable("`prejoin` is a name, and so is `prejoin.toml`") == "`prejoin` is a name, and so is `prejoin.toml`"


@pytest.mark.slow
def test_messages_of_a_fresh_clone_name_a_command_that_runs(tmp_path: Path) -> None:
    """Each command that the demo, the checks and the usage errors name is one that this shell finds."""
    _script(tmp_path / ".venv" / "bin" / "prejoin")
    shutil.copy(SHOP, tmp_path)
    environment = {**os.environ, "PATH": os.defpath}

    def prejoin(*arguments: str) -> str:
        ran = subprocess.run(
            [".venv/bin/prejoin", *arguments], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60
        )
        return ran.stdout + ran.stderr

    (tmp_path / "empty.md").write_text("", "utf-8")
    for arguments, expected in {
        ("demo", SHOP.name): ".venv/bin/prejoin query AP-",
        ("check", SHOP.name): "`.venv/bin/prejoin design",
        ("check", SHOP.name, "--format", "json"): '".venv/bin/prejoin design',
        ("check", "empty.md"): "`.venv/bin/prejoin init` writes",
        ("check", "empty.md", "--format", "json"): "`.venv/bin/prejoin init` writes",
        ("chek",): "`.venv/bin/prejoin --help`",
        ("init", "a.md"): "`.venv/bin/prejoin check a.md`",
    }.items():
        output = prejoin(*arguments)
        assert expected in output, (arguments, output)
        # `prejoin serve` and the like without the path, at the start of a line or in backticks, is not found.
        assert not re.findall(r"(?:^|`|\n *)prejoin [a-z]+[^\n]*", output), output
