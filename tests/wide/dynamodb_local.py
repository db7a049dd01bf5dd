"""DynamoDB Local's answers to the scenario, written to a file as MessagePack.

DynamoDB Local listens on every interface. So it runs, with its client, in a network of its own that has only loopback:

    unshare --map-root-user --net -- python -m tests.wide.dynamodb_local PACKAGE FILE
"""

from __future__ import annotations

import fcntl
import socket
import struct
import subprocess
import sys
from pathlib import Path

import msgspec

from .conftest import running, unused_port, wait_for
from .scenario import run_everywhere

_SET_FLAGS, _UP = 0x8914, 0x1


def main(package: Path, file: Path) -> None:
    if [name for _, name in socket.if_nameindex()] != ["lo"]:
        raise SystemExit("DynamoDB Local listens on every interface: start it in a network of its own")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))
    (jar,) = package.glob("lib/*/DynamoDBLocal.jar")
    port = unused_port()
    options = ("-inMemory", "-disableTelemetry", "-port", str(port))
    library = f"-Djava.library.path={jar.parent / 'DynamoDBLocal_lib'}"
    with running("java", library, "-jar", jar, *options, log=subprocess.DEVNULL) as process:
        wait_for(port, process)
        file.write_bytes(msgspec.msgpack.encode(run_everywhere(f"http://127.0.0.1:{port}")))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
