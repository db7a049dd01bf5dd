"""Writes what is made from the code: all messages, the JSON Schemas, and the tables of the guide to the document.

`--check` only compares.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from prejoin.cli.commands.schema import envelope_schema
from prejoin.design import codes as design_codes
from prejoin.pipeline import codes as pipeline_codes
from prejoin.workload import codes as workload_codes
from prejoin.workload.files import json_schema
from prejoin.workload.grammar.constructs import TABLES, as_markdown

DOCS = Path(__file__).resolve().parents[1] / "docs"
GUIDE = "guides/access-patterns.md"


def pages() -> dict[str, str]:
    """The pages by their path below `docs`."""
    catalogues = (pipeline_codes.CATALOGUE, workload_codes.CATALOGUE, design_codes.CATALOGUE)
    codes = sorted((code for catalogue in catalogues for code in catalogue.values()), key=lambda code: code.id)
    entries = [f"## {code.id} · {code.severity} · {code.title}\n\n{code.explanation}\n" for code in codes]
    head = (
        "# All messages\n\n"
        "Made by `scripts/reference.py`. Codes do not change and are never reused. 0xx: how the command was used.\n"
        "1xx: how the document is written. 2xx: names and types. 3xx: what is missing. 4xx: what people forget.\n"
        "5xx and 6xx: designs.\n"
    )
    return {
        "reference/messages.md": "\n".join([head, *entries]),
        "reference/workload.schema.json": json.dumps(json_schema(), indent=2) + "\n",
        "reference/envelope.schema.json": json.dumps(envelope_schema(), indent=2) + "\n",
        GUIDE: with_tables((DOCS / GUIDE).read_text(encoding="utf-8")),
    }


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
        print(f"not as the code has it: {', '.join(stale)}; run scripts/reference.py" if stale else "up to date")
        return bool(stale)
    for name in stale:
        (DOCS / name).write_text(pages()[name], encoding="utf-8")
        print(f"wrote docs/{name}")
    return 0


def _same(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
