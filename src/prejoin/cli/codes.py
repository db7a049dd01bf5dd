"""The codes of the messages about the command itself; what each one means is told in `codes.md`, beside this file."""

from __future__ import annotations

from prejoin.diagnostics import read_catalogue

CATALOGUE = read_catalogue("prejoin.cli", "codes.md")

MISUSED = CATALOGUE["PJ001"]
NOT_INSTALLED = CATALOGUE["PJ002"]
WOULD_OVERWRITE = CATALOGUE["PJ003"]
CANNOT_WRITE = CATALOGUE["PJ004"]
ANSWER = CATALOGUE["PJ005"]
UNWRITABLE = CATALOGUE["PJ006"]
INTERRUPTED = CATALOGUE["PJ007"]
FAULT = CATALOGUE["PJ008"]
FLAG = CATALOGUE["PJ009"]
CANNOT_LISTEN = CATALOGUE["PJ010"]
NO_SCHEMA = CATALOGUE["PJ020"]
NO_TABLE = CATALOGUE["PJ021"]
WOULD_CHANGE = CATALOGUE["PJ022"]
