"""The contenders, as data: prejoin and other clients for DynamoDB."""

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
"""An interpreter without packages: each contender gets only its own library."""


@dataclass(frozen=True)
class Way:
    """A library, and the one of its interfaces that is measured."""

    id: str
    name: str
    module: str
    """Its adapter, a module of `clients`."""
    package: str
    """The package to install; also the name of its folder in `.tools/bench/client`."""
    tree: Path = ROOT
    """For prejoin, the clone whose `src` is run."""

    @property
    def ours(self) -> bool:
        return self.package == "prejoin"

    @property
    def folder(self) -> Path:
        return INSTALLED / self.package


WAYS = (
    Way("prejoin", "prejoin", "prejoin_sync", "prejoin"),
    Way("prejoin-async", "prejoin, async", "prejoin_async", "prejoin"),
    Way("boto3", "boto3 client", "boto3_client", "boto3"),
    Way("boto3-resource", "boto3 resource", "boto3_resource", "boto3"),
    Way("pynamodb", "PynamoDB", "pynamodb_models", "pynamodb"),
    Way("pydynox", "pydynox", "pydynox_sync", "pydynox"),
    Way("pydynox-async", "pydynox, async", "pydynox_async", "pydynox"),
    Way("aiodynamo", "aiodynamo", "aiodynamo_table", "aiodynamo"),
    Way("aioboto3", "aioboto3 resource", "aioboto3_resource", "aioboto3"),
)
BY_ID = {way.id: way for way in WAYS}


def missing(way: Way) -> str:
    """Why a contender cannot be measured here; empty if it can."""
    return "" if way.ours or is_installed(way) else "not installed: run benchmarks/client/install"


def is_installed(way: Way) -> bool:
    return PYTHON.exists() and (INSTALLED / f"{way.package}.stamp").exists()


def python(way: Way) -> str:
    """The interpreter. prejoin needs no installation: it can use the current interpreter."""
    return str(PYTHON) if is_installed(way) else sys.executable


def environment(way: Way) -> dict[str, str]:
    """The environment of a contender: its library, without the user's AWS account and proxy."""
    paths = [HERE.parent, *([way.tree / "src"] if way.ours else []), *([way.folder] if is_installed(way) else [])]
    return {**clean(), "PYTHONPATH": os.pathsep.join(map(str, paths))}
