"""The project itself: imports that point one way, a light base install, pages that are what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = ("click", "rich", "yaml", "markdown_it", "jinja2", "highspy", "numpy", "botocore", "boto3", "sqlalchemy")


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, timeout=120)


def test_imports_point_one_way() -> None:
    result = subprocess.run([Path(sys.executable).parent / "lint-imports"], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    "module", ["table", "engine", "keys", "transport", "protocol", "workload.model", "design.model"]
)
def test_what_runs_in_an_application_needs_the_base_install_only(module: str) -> None:
    result = python("-c", f"import sys, prejoin.{module}; print(*(set({HEAVY!r}) & set(sys.modules)))")
    assert (result.stdout.strip(), result.stderr) == ("", "")


def test_the_reference_pages_are_what_the_code_says() -> None:
    result = python("scripts/reference.py", "--check")
    assert result.returncode == 0, result.stdout


def test_the_python_in_the_readme_runs() -> None:
    first, second = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    check = "assert db.get(User, email='a@b.com') == User('42', 'a@b.com', 'Alice')"
    for code in (f"{first}\n{check}", f"{second}\ntest_with_boto3_and_no_server()"):
        assert python("-c", code).stderr == ""


def test_links_between_our_pages_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")]
    dead = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert dead == []


def test_nothing_refers_to_a_place_outside_the_project() -> None:
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT).stdout.split()
    files = [f for f in listed if (ROOT / f).is_file()]
    outside = re.compile(r"\.\./shared|/work/|/root/|pypi\.org|registry\.npmjs|files\.pythonhosted|\"resolved\"")
    own = {"tests/test_project.py"}
    found = [
        f for f in files if f not in own and outside.search((ROOT / f).read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []
