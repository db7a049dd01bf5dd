"""The command `prejoin`: parse arguments, call, print. This file starts it, also where the rest is not installed."""

from __future__ import annotations

import itertools
import sys

_EXTRA = frozenset({"click", "rich", "markdown_it", "mdurl", "yaml", "jinja2", "highspy", "numpy"})
"""Modules that come with the `design` extra."""


def main() -> None:
    """The entry point; ends the process with one of the documented statuses."""
    try:
        from prejoin.cli.run import run
    except ModuleNotFoundError as problem:
        if not extra(problem):
            raise
        sys.exit(_not_installed(problem))
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))


def extra(problem: ModuleNotFoundError) -> bool:
    """Whether what is missing comes with the `design` extra."""
    return (problem.name or "").partition(".")[0] in _EXTRA


def _not_installed(problem: ModuleNotFoundError) -> int:
    from prejoin import __version__

    message = f"the command needs `{problem.name}`, which is not installed"
    fix = "pip install 'prejoin[design]'"
    print(f"prejoin: {message}; install it with: {fix}", file=sys.stderr)
    if wants_json(sys.argv[1:]):
        import json

        place = {"file": "", "line": 0, "column": 0, "text": ""}
        said = {"code": "PJ002", "severity": "error", "message": message, "fix": fix, **place}
        head = {"prejoin": __version__, "command": "", "ok": False, "exit": 3}
        print(json.dumps({**head, "diagnostics": [said], "result": None}, indent=2))
    return 3


def wants_json(arguments: list[str]) -> bool:
    """Whether the arguments ask for JSON; known before they are parsed, as they may be wrong.

    >>> wants_json(["check", "--format", "json"]), wants_json(["check", "--format=text"])
    (True, False)
    """
    return "--format=json" in arguments or ("--format", "json") in itertools.pairwise(arguments)
