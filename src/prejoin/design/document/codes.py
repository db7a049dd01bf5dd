"""The codes of the messages about the table-design document; all codes of designs are told in one place, `codes.md`."""

from __future__ import annotations

from prejoin.design.codes import CATALOGUE

UNREADABLE = CATALOGUE["PJ620"]
HEADING = CATALOGUE["PJ621"]
NO_SECTION = CATALOGUE["PJ622"]
NO_COLUMN = CATALOGUE["PJ623"]
TOO_MANY_CELLS = CATALOGUE["PJ624"]
NEAR = CATALOGUE["PJ625"]
CELL = CATALOGUE["PJ626"]
NO_TEMPLATE = CATALOGUE["PJ627"]
TWICE = CATALOGUE["PJ628"]
STALE = CATALOGUE["PJ629"]
STATUS = CATALOGUE["PJ630"]
