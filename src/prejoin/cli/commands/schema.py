"""`prejoin schema`: the JSON Schemas of the document in YAML or JSON, and of the output of the command."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from prejoin.cli.command import command
from prejoin.cli.outcome import Envelope, Outcome
from prejoin.cli.text.design_answers import DesignAnswers


@command("schema")
@click.argument("of", type=click.Choice(["workload", "envelope"]), default="workload")
def schema(of: str) -> Outcome:
    """Print a JSON Schema: of the `workload` (the document in YAML or JSON), or of the `envelope` (the output with
    `--format json`)."""
    if of == "envelope":
        definition = envelope_schema()
    else:
        from prejoin.workload.files import json_schema

        definition = json_schema()
    return Outcome(result=definition, page=msgspec.json.format(msgspec.json.encode(definition), indent=2).decode())


def envelope_schema() -> dict[str, Any]:
    """The JSON Schema of the envelope. `$defs` has the answers of `design --why` and the like, too."""
    (envelope, _), parts = msgspec.json.schema_components([Envelope, DesignAnswers], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:prejoin:envelope:1",
        "title": "prejoin envelope",
        **envelope,
        "$defs": parts,
    }
