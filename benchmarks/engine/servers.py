"""Servers as processes of their own, on a port of this machine's loopback, for as long as they are asked."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import ways


@contextmanager
def running(engine: str, order: dict[str, Any]) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The server's process and its port. It may not answer yet."""
    if engine == "local":
        _loopback_only(order["network"])
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(_command(engine, str(port)), stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        yield process, port
    finally:
        process.terminate()
        process.wait(20)


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.002)
    raise RuntimeError(f"the server does not listen (exit code {process.poll()})")


def _command(engine: str, port: str) -> list[str]:
    beside = Path(sys.executable).parent
    if engine == "serve":
        return [str(beside / "prejoin"), "serve", "--port", port]
    if engine == "moto server":
        return [str(beside / "moto_server"), "-H", "127.0.0.1", "-p", port]
    if engine == "dynoxide":
        return [str(ways.DYNOXIDE), "--host", "127.0.0.1", "--port", port]
    if engine == "dynalite":
        return ["node", str(ways.DYNALITE), "--host", "127.0.0.1", "--port", port, "--createTableMs", "0"]
    (jar,) = ways.DYNAMODB_LOCAL.glob("lib/*/DynamoDBLocal.jar")
    library = jar.parent / "DynamoDBLocal_lib"
    options = ["-inMemory", "-disableTelemetry", "-port", port]
    return ["java", f"-Djava.library.path={library}", "-jar", str(jar), *options]


def _loopback_only(outside: str) -> None:
    """Make sure that this process is in a network of its own, where every interface is loopback; and switch it on."""
    if os.readlink("/proc/self/ns/net") == outside or [name for _, name in socket.if_nameindex()] != ["lo"]:
        raise RuntimeError("DynamoDB Local listens on every interface: it is started only in a network of its own")
    set_flags, up = 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", up))
