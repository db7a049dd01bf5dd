"""Connections: sockets and asyncio, TLS, proxies, HTTP/1.1, and the pool."""
