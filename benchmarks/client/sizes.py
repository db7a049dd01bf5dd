"""The size on disk and the version of each installation."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import distributions, version

from .ways import Way, is_installed


def sizes(ways: Iterable[Way]) -> dict[str, int]:
    """Bytes of a fresh `pip install --target` with dependencies and compiled files, for installed ways."""
    return {
        way.id: sum(file.stat().st_size for file in way.folder.rglob("*") if file.is_file())
        for way in ways
        if is_installed(way)
    }


def versions(ways: Iterable[Way]) -> dict[str, str]:
    found = {"Python": platform.python_version(), "prejoin": version("prejoin")}
    for way in ways:
        if not way.ours and is_installed(way):
            found[way.package] = _version(way)
    return found


def _version(way: Way) -> str:
    installed = {one.name: one.version for one in distributions(path=[str(way.folder)])}
    dependency = {"pynamodb": "botocore", "aioboto3": "boto3", "aiodynamo": "aiohttp"}.get(way.package)
    found = installed[way.package]
    return f"{found} (with {dependency} {installed[dependency]})" if dependency else found
