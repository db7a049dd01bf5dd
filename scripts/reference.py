"""Writes what is made from the code: the public API, messages, JSON Schemas, tables of the guide to the document.

`--check` only compares.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path

import prejoin
import prejoin.testing
from grammar_guide import TABLES, as_markdown
from prejoin._exports import HOMES
from prejoin.cli.commands.schema import envelope_schema
from prejoin.design import codes as design_codes
from prejoin.migrate import codes as migrate_codes
from prejoin.pipeline import codes as pipeline_codes
from prejoin.workload import codes as workload_codes
from prejoin.workload.files import json_schema

DOCS = Path(__file__).resolve().parents[1] / "docs"
GUIDE = "guides/access-patterns.md"


def pages() -> dict[str, str]:
    """The pages by their path below `docs`."""
    catalogues = (
        pipeline_codes.CATALOGUE,
        workload_codes.CATALOGUE,
        design_codes.CATALOGUE,
        migrate_codes.CATALOGUE,
    )
    codes = sorted((code for catalogue in catalogues for code in catalogue.values()), key=lambda code: code.id)
    entries = [f"## {code.id} · {code.severity} · {code.title}\n\n{code.explanation}\n" for code in codes]
    head = (
        "# All messages\n\n"
        "Made by `scripts/reference.py`. Codes do not change and are never reused. 0xx: how the command was used.\n"
        "1xx: how the document is written. 2xx: names and types. 3xx: what is missing. 4xx: what people forget.\n"
        "5xx and 6xx: designs. 7xx: migrations.\n"
    )
    return {
        "reference/messages.md": "\n".join([head, *entries]),
        "reference/api.md": api(),
        "reference/workload.schema.json": json.dumps(json_schema(), indent=2) + "\n",
        "reference/envelope.schema.json": json.dumps(envelope_schema(), indent=2) + "\n",
        GUIDE: with_tables((DOCS / GUIDE).read_text(encoding="utf-8")),
    }


GROUPS = {
    "Clients": "prejoin.table.client",
    "Schema and keys": "prejoin.table.schema prejoin.keys prejoin.types",
    "Reads": "prejoin.table.read",
    "Conditions": "prejoin.table.condition",
    "Updates": "prejoin.table.update",
    "Patterns": "prejoin.patterns",
    "Streams": "prejoin.streams",
    "Places": "prejoin.engine prejoin.transport",
    "The table itself, and ids": "prejoin.table.admin prejoin.table.ids",
    "The pipeline: from a document to a design and its code": "prejoin.pipeline prejoin.diagnostics",
    "Migrations from a relational database": "prejoin.migrate",
    "Errors": "prejoin",
}
"""The sections of the API page, and the packages whose names belong there. The first that fits counts."""


def api() -> str:
    """The page of all public names, each with its signature and the first sentence of its docstring."""
    rest = {name: getattr(prejoin, name) for name in prejoin.__all__}
    errors = {name: found for name, found in rest.items() if inspect.isclass(found) and issubclass(found, Exception)}
    text = [
        "# The public API",
        "",
        "Made by `scripts/reference.py`. Everything public is imported from `prejoin` or from `prejoin.testing`; all",
        "other modules are private. The methods of the clients are in [the client](client.md).",
    ]
    for title, packages in GROUPS.items():
        homes = tuple(packages.split())
        found = {n: v for n, v in rest.items() if HOMES[n].startswith(homes) and (n not in errors or title == "Errors")}
        text += ["", f"## {title}", "", *_rows(found)]
        rest = {name: value for name, value in rest.items() if name not in found}
    testing = {name: getattr(prejoin.testing, name) for name in prejoin.testing.__all__}
    text += ["", "## `prejoin.testing`", "", *_rows(testing)]
    return "\n".join(text) + "\n"


def _rows(names: dict[str, object]) -> list[str]:
    rows = ["| Name | What it is |", "| --- | --- |"]
    return rows + [f"| `{_call(name, found)}` | {_summary(found)} |" for name, found in sorted(names.items())]


def _call(name: str, found: object) -> str:
    """How a function is called: the names of its parameters. A class is named only; its page shows how it is made."""
    if not inspect.isfunction(found):
        return name
    return f"{name}({', '.join(_parameter(one) for one in inspect.signature(found).parameters.values())})"


def _parameter(one: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(one.kind, "")
    return f"{stars}{one.name}" + ("" if one.default is one.empty or stars else "=…")


def _summary(found: object) -> str:
    if not inspect.isfunction(found) and not inspect.isclass(found):
        return f"A type: `{str(found).replace('typing.', '').replace('collections.abc.', '')}`"
    paragraph = (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ")
    return re.match(r".*?[.:?!](?=\s|\Z)|.*", paragraph)[0].rstrip(":").replace("|", "\\|")  # type: ignore[index]


def with_tables(guide: str) -> str:
    """The guide with the tables of the grammar between their markers. KeyError where a marker names no table."""
    found = {table.title: as_markdown(table) for table in TABLES}
    return re.sub(
        r"(<!-- table: ([^\n]+) -->\n).*?(<!-- end -->)",
        lambda m: f"{m[1]}\n{found[m[2]]}\n\n{m[3]}",
        guide,
        flags=re.DOTALL,
    )


def main() -> int:
    stale = [name for name, text in pages().items() if not _same(DOCS / name, text)]
    if "--check" in sys.argv:
        print(f"not as the code has it: {', '.join(stale)}; run python scripts/reference.py" if stale else "up to date")
        return bool(stale)
    for name in stale:
        (DOCS / name).write_text(pages()[name], encoding="utf-8")
        print(f"wrote docs/{name}")
    return 0


def _same(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
