"""The contenders: clients for DynamoDB, ours and others'. Data only; whoever runs them opens them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from engine.ways import PEERS
from engine.ways import environment as clean

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INSTALLED = PEERS / "client"
PYTHON = INSTALLED / "python" / "bin" / "python"
"""An interpreter with nothing beside it: each contender finds its own library, and no other's."""


@dataclass(frozen=True)
class Way:
    """A library, and which of its faces is asked."""

    id: str
    name: str
    module: str
    """The module of `clients` that asks it."""
    package: str
    """What is installed for it: a folder of `.tools/bench/client`, and what its version is told by."""
    tree: Path = ROOT
    """The clone whose `src` is run, if it is ours."""

    @property
    def ours(self) -> bool:
        return self.package == "prejoin"

    @property
    def folder(self) -> Path:
        return INSTALLED / self.package


WAYS = (
    Way("prejoin", "prejoin", "prejoin_waiting", "prejoin"),
    Way("prejoin-async", "prejoin, awaited", "prejoin_awaited", "prejoin"),
    Way("boto3", "boto3 client", "boto3_client", "boto3"),
    Way("boto3-resource", "boto3 resource", "boto3_resource", "boto3"),
    Way("pynamodb", "PynamoDB", "pynamodb_models", "pynamodb"),
    Way("pydynox", "pydynox", "pydynox_waiting", "pydynox"),
    Way("pydynox-async", "pydynox, awaited", "pydynox_awaited", "pydynox"),
    Way("aiodynamo", "aiodynamo", "aiodynamo_table", "aiodynamo"),
    Way("aioboto3", "aioboto3 resource", "aioboto3_resource", "aioboto3"),
)
BY_ID = {way.id: way for way in WAYS}


def missing(way: Way) -> str:
    """Why a contender cannot be asked here; empty if it can."""
    return "" if way.ours or is_installed(way) else "not installed: benchmarks/client/install does it"


def is_installed(way: Way) -> bool:
    return PYTHON.exists() and (INSTALLED / f"{way.package}.stamp").exists()


def python(way: Way) -> str:
    """The interpreter. Ours can be asked without an installation too, with the one that runs this."""
    return str(PYTHON) if is_installed(way) else sys.executable


def environment(way: Way) -> dict[str, str]:
    """No account, no proxy, nothing of the user's; and the contender's library, ours as it is in its tree."""
    paths = [HERE.parent, *([way.tree / "src"] if way.ours else []), *([way.folder] if is_installed(way) else [])]
    return {**clean(), "PYTHONPATH": os.pathsep.join(map(str, paths))}
