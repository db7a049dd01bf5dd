"""A proxy for tests that supports only CONNECT."""

from __future__ import annotations

import contextlib
import socket
import threading


class TunnelProxy:
    """Tunnels to any host, or responds with a refusal. It keeps the heads of requests."""

    def __init__(self, refusal: bytes = b"") -> None:
        self.heads: list[str] = []
        self._refusal = refusal
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> TunnelProxy:
        return self

    def __exit__(self, *_: object) -> None:
        for sock in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._open.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(1)
            self.heads.append(head.decode())
            if self._refusal:
                client.sendall(self._refusal)
                client.close()
                return
            host, _, port = head.split(b" ")[1].decode().rpartition(":")
            server = socket.create_connection((host, int(port)))
            self._open.append(server)
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            threading.Thread(target=self._carry, args=(server, client), daemon=True).start()
            self._carry(client, server)

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
