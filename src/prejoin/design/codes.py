"""The codes of the messages about a design; what each one means is told in `codes.md`, beside this file."""

from __future__ import annotations

from prejoin.diagnostics import read_catalogue

CATALOGUE = read_catalogue("prejoin.design", "codes.md")

NOT_A_DESIGN = CATALOGUE["PJ500"]
NO_DESIGN = CATALOGUE["PJ501"]
