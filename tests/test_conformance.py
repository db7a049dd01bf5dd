"""docs/conformance/README.md is generated from data, and every failure has a reason."""

from __future__ import annotations

import importlib.util
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def _script() -> Any:
    spec = importlib.util.spec_from_file_location("conformance", ROOT / "scripts" / "conformance.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


conformance = _script()


def test_pages_are_up_to_date() -> None:
    kept = json.loads((ROOT / "docs" / "conformance" / "results.json").read_text())
    reasons = tomllib.loads((ROOT / "docs" / "conformance" / "reasons.toml").read_text())
    explained, unexplained = conformance.explain(kept, reasons)
    assert unexplained == []
    assert (ROOT / "docs" / "conformance" / "README.md").read_text() == conformance.render(kept, reasons, explained)
    listed = (ROOT / "docs" / "conformance" / "failures.md").read_text()
    assert listed == conformance.render_failures(reasons, explained)
    assert all(f"- `{test}`" in listed for suite in kept.values() for test in suite["failures"])
    assert kept["public"]["prejoin"]["passed"] >= 597
    assert kept["alternator"]["prejoin"]["passed"] >= 1010


JUNIT = """<testsuites><testsuite>
<testcase classname="a.b" name="good"/><testcase classname="a.b" name="bad"><failure/></testcase>
<testcase classname="a.b" name="broken"><error/></testcase><testcase classname="a.b" name="left"><skipped/></testcase>
<testcase classname="a.b" name="bad"/>
</testsuite></testsuites>"""
MOCHA = {"passes": [{"fullTitle": "good"}], "failures": [{"fullTitle": "bad"}], "pending": [{"fullTitle": "left"}]}
STATUSES = {"good": "passed", "bad": "failed", "left": "pending"}
VITEST = {
    "testResults": [{"assertionResults": [{"fullName": name, "status": status} for name, status in STATUSES.items()]}]
}


@pytest.mark.parametrize(("name", "content"), [("x.json", json.dumps(MOCHA)), ("x.json", json.dumps(VITEST))])
def test_results_of_javascript_are_read(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    found = dict(conformance.read_results(tmp_path / name))
    assert found == {"good": "passed", "bad": "failed", "left": "skipped"}


def test_results_of_pytest_are_added_up_and_need_reasons(tmp_path: Path) -> None:
    (tmp_path / "x.xml").write_text(JUNIT)
    (tmp_path / "y.json").write_text(json.dumps(MOCHA))
    kept: dict[str, Any] = {}
    conformance.take_in(kept, [f"s:prejoin={tmp_path / 'x.xml'}", f"s:prejoin={tmp_path / 'y.json'}"])
    assert kept["s"]["prejoin"] == {"passed": 2, "failed": 3, "skipped": 2}
    assert kept["s"]["failures"] == ["a.b.bad", "a.b.broken", "bad"]
    suite = {"short": "S", "title": "Suite", "reasons": [{"tests": "bad", "reason": "Because."}]}
    texts = {"introduction": "# I", "conclusion": "C", "suites": {"s": suite}}
    explained, unexplained = conformance.explain(kept, texts)
    assert unexplained == ["s: a.b.broken"]
    assert explained == {"s": {"Because.": ["a.b.bad", "bad"]}}
    page = conformance.render(kept, texts, explained)
    assert "| Suite | 7 | 2 | – | – | 3 | 2 |" in page
    assert "| 2 | Because. |" in page
