"""The codes of the messages about NoSQL Workbench models; all codes of designs are told in one place, `codes.md`."""

from __future__ import annotations

from prejoin.design.codes import CATALOGUE

NOT_A_MODEL = CATALOGUE["PJ640"]
OTHER_TABLES = CATALOGUE["PJ641"]
BAD_SAMPLE = CATALOGUE["PJ642"]
NOT_TAKEN_APART = CATALOGUE["PJ643"]
INVENTED = CATALOGUE["PJ644"]
NOT_ITS_KEY = CATALOGUE["PJ645"]
SKETCH = CATALOGUE["PJ646"]
NO_SAMPLES = CATALOGUE["PJ647"]
RAW = CATALOGUE["PJ648"]
LINE = CATALOGUE["PJ649"]
