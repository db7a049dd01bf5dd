"""CONTRIBUTING's "A construct of the document", followed literally in a copy of the package."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEPS = (
    (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("**A construct of the document**")[2].partition("\n**")[0]
)

MODULE = '''
"""Versioned: each write counts an attribute, so that a second writer is noticed."""

from __future__ import annotations

from dataclasses import dataclass

from prejoin.constructs.construct import BoundConstruct, Construct, LineGrammar, Problem, SchemaCall
from prejoin.types import Kind
from prejoin.workload.codes import CATALOGUE
from prejoin.workload.grammar.lexer import CellTokens, write_name
from prejoin.workload.model import Change, ChangeOp, Value, Verb


class VersionedConstruct(Construct[str]):
    name = "versioned"
    grammar = LineGrammar("Versioned", "the number that each write counts", (("revision", "counted by each update"),))

    def read(self, text):
        tokens = CellTokens(text)
        name = tokens.name("the attribute that is counted")
        tokens.expect_end("write the name of a number, `revision`")
        return name

    def write(self, value):
        return write_name(value)

    def bind(self, entity, value):
        return Versioned(entity, self, value)


@dataclass(frozen=True, slots=True)
class Versioned(BoundConstruct):
    attribute: str

    def problems(self):
        counted = self.entity.attribute(self.attribute)
        if counted is None or counted.type.kind is not Kind.INTEGER:
            message = f"`{self.entity.name}` has no whole number `{self.attribute}` that could be counted"
            yield Problem(CATALOGUE["PJ228"], message, f"add `` `{self.attribute}` (integer, mutable) ``")

    def write_problems(self, write):
        for action in write.actions:
            if action.entity == self.entity.name and action.verb in (Verb.PUT, Verb.UPSERT):
                message = f"{write.id} does not know the revision that it replaces"
                yield Problem(CATALOGUE["PJ228"], message, "write `create` or `update`", "actions")

    @property
    def maintained_names(self):
        return frozenset({self.attribute})

    def also_changes(self, action):
        return (Change(self.attribute, ChangeOp.ADD, Value(const="1")),)

    def schema_calls(self, design, twins):
        yield SchemaCall("Version", (self.attribute,))

    def explanation(self, design):
        yield f"Each update counts `{self.attribute}`."

    @property
    def initial(self):
        return {self.attribute: 1}
'''
CODE = """
## PJ228 · error · An item cannot be versioned

`Versioned: revision` counts a whole number of the entity.
"""
EDITS = {
    "workload/model.py": [
        (
            "    history: History | None = None\n",
            "    versioned: str | None = None\n    history: History | None = None\n",
        )
    ],
    "constructs/registry.py": [
        (
            "from prejoin.constructs.history import",
            "from prejoin.constructs.versioned import VersionedConstruct\nfrom prejoin.constructs.history import",
        ),
        ("(HistoryConstruct(),", "(VersionedConstruct(), HistoryConstruct(),"),
    ],
}
"""The lines of the steps, by file: a text of it, and what replaces that."""

DOCUMENT = """# Pages

## Entities

### Page

- **Attributes**:
  - `pageId` (ulid, id)
  - `text` (string, mutable)
  - `state` (DRAFT | SHOWN, mutable)
  - `revision` (integer, mutable)
- **Cardinality**: ~1K total
- **Versioned**: revision

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Page | A page | pageId | Single | - | No | 1/s |
| AP-002 | Page | Pages by their revision | state | Collection | revision DESC | Yes | 1/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Page | Write a page | Page | create Page | No | - | 1/s |
| AP-011 | Page | Change a page | pageId, text, revision | update Page (text) | No | revision = revision | 10/s |
"""

SCRIPT = """
import sys
from pathlib import Path

from grammar_guide import TABLES

import prejoin
from prejoin.design.cost.bill import bill
from prejoin.design.document.write_document import write_document
from prejoin.design.explain.explanation import explain_design
from prejoin.design.solver.solve import solve
from prejoin.diagnostics import has_errors
from prejoin.engine import Embedded
from prejoin.pipeline.build.generated_tests import run_tests
from prejoin.proof.prove import prove
from prejoin.render.python.package import Options, render_package, render_python
from prejoin.workload.files import read_text, write_text

assert Path(prejoin.__file__).is_relative_to(sys.argv[1]), prejoin.__file__
text = Path(sys.argv[2]).read_text()
reading = read_text(text, "md")

# Read and written, in all forms, and a row of the guide.
assert not has_errors(reading.diagnostics), reading.diagnostics
workload = reading.workload
assert workload.entity("Page").versioned == "revision"
for form in ("md", "yaml", "json"):
    assert read_text(write_text(workload, form), form).workload == workload, form
assert any(table.title == "Versioned" for table in TABLES)

# Checked.
for wrong in (text.replace("(integer, mutable)", "(string, mutable)"), text.replace("create Page", "put Page")):
    codes = [one.code for one in read_text(wrong, "md").diagnostics]
    assert "PJ228" in codes, codes

# Designed and priced: what the client adds moves the item in an index.
design = solve(workload).design
plain = read_text(text.replace("- **Versioned**: revision\\n", "").replace("revision = revision", "-").replace("text, revision |", "text |"), "md").workload
units = [solve(one).design.operation("AP-011").units.write for one in (workload, plain)]
assert units[0] > units[1], units
assert bill(workload, design).total > bill(plain, solve(plain).design).total
assert "revision = revision + 1" in write_document(design, workload)
assert any("counts `revision`" in text for one in explain_design(workload, design).entities for text in one.text)

# Rendered, and the generated tests pass.
assert 'Version("revision")' in render_package(workload, design).modules["schema"]
result = run_tests(render_python(workload, design, Options("pages")), "pages")
assert result.passed and not result.failed, result.failed

# Proven; and not if the schema lacks it.
proof = prove(workload, design, Embedded())
assert proof.findings == () and all(one.right for one in proof.patterns), proof
from prejoin.constructs.versioned import Versioned
Versioned.schema_calls = lambda self, design, twins: iter(())
assert not all(one.right for one in prove(workload, design, Embedded()).patterns)
print("added")
"""


def test_the_steps_name_the_files_that_are_edited() -> None:
    named = {name for name in re.findall(r"`([a-z_/]+\.(?:py|md))`", STEPS) if (ROOT / "src/prejoin" / name).exists()}
    assert named >= {"workload/codes.md", *EDITS}
    assert "constructs/" in STEPS


@pytest.mark.slow
def test_a_construct_is_a_module_a_field_and_a_line_of_registration(tmp_path: Path) -> None:
    copy = tmp_path / "prejoin"
    shutil.copytree(ROOT / "src" / "prejoin", copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "constructs" / "versioned.py").write_text(MODULE)
    for name, edits in EDITS.items():
        text = (copy / name).read_text("utf-8")
        for old, new in edits:
            assert text.count(old) == 1
            text = text.replace(old, new)
        (copy / name).write_text(text, "utf-8")
    catalogue = copy / "workload" / "codes.md"
    catalogue.write_text(catalogue.read_text("utf-8") + CODE, "utf-8")
    (tmp_path / "pages.md").write_text(DOCUMENT)
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path), str(tmp_path / "pages.md")]
    result = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT / 'scripts'}", "PATH": ""},
    )
    assert result.stdout.strip() == "added", result.stderr[-3000:]
