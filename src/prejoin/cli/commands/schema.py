"""`prejoin schema`: the published JSON Schemas, of the document in YAML or JSON and of the command's own JSON."""

from __future__ import annotations

import click
import msgspec

from prejoin.cli.command import command
from prejoin.cli.outcome import Outcome, envelope_schema


@command("schema")
@click.argument("of", type=click.Choice(["workload", "envelope"]), default="workload")
def schema(of: str) -> Outcome:
    """Print a JSON Schema: of the `workload` (the document as YAML or JSON), or of the `envelope` (what `--format
    json` prints)."""
    if of == "envelope":
        found = envelope_schema()
    else:
        from prejoin.workload.data import json_schema

        found = json_schema()
    return Outcome(result=found, page=msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
