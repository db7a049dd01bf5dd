"""The command `prejoin`: parse arguments, call, print. This file starts it, also where the rest is not installed."""

from __future__ import annotations

import itertools
import sys

_CLI = frozenset({"click", "rich", "pygments", "markdown_it", "mdurl", "yaml"})
"""Modules that come with the `cli` extra."""
_SOLVER = frozenset({"highspy", "numpy"})
"""Modules that come with the `design` extra, beside those."""
_DATABASES = frozenset({"sqlalchemy", "sqlglot", "psycopg", "pymysql"})
"""Modules that come with the `migrate` extra, beside those."""
_MIGRATING = frozenset({"discover", "migrate"})
"""Commands that read databases."""
_SOLVING = frozenset({"design", "build", "query", "demo"})
"""Commands that choose keys."""


def main() -> None:
    """The entry point; ends the process with one of the documented statuses."""
    try:
        from prejoin.cli.run import run
    except ModuleNotFoundError as problem:
        extra = extra_of(problem, sys.argv[1:])
        if not extra:
            raise
        sys.exit(_not_installed(problem, extra))
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))


def extra_of(problem: ModuleNotFoundError, arguments: list[str]) -> str:
    """The extra that brings the missing module and all else this command line needs; empty if none does."""
    module = (problem.name or "").partition(".")[0]
    if module not in _CLI | _SOLVER | _DATABASES:
        return ""
    command = next((word for word in arguments if not word.startswith("-")), "")
    if module in _DATABASES or command in _MIGRATING:
        return "migrate"
    return "cli" if module in _CLI and command and command not in _SOLVING else "design"


def install_command(extra: str) -> str:
    """How to install an extra. Prejoin is not on PyPI yet, so it is run in a clone; a release changes this line."""
    return f"pip install '.[{extra}]'"


def _not_installed(problem: ModuleNotFoundError, extra: str) -> int:
    from prejoin._version import __version__

    message = f"the command needs `{problem.name}`, which is not installed"
    fix = f"in a clone of prejoin: {install_command(extra)}"
    print(f"prejoin: {message}; {fix}", file=sys.stderr)
    if wants_json(sys.argv[1:]):
        import json

        place = {"file": "", "line": 0, "column": 0, "text": ""}
        diagnostic = {"code": "PJ002", "severity": "error", "message": message, "fix": fix, **place}
        head = {"prejoin": __version__, "command": "", "ok": False, "exit": 3}
        print(json.dumps({**head, "diagnostics": [diagnostic], "result": None}, indent=2))
    return 3


def wants_json(arguments: list[str]) -> bool:
    """Whether the arguments ask for JSON; known before they are parsed, as they may be wrong.

    >>> wants_json(["check", "--format", "json"]), wants_json(["check", "--format=text"])
    (True, False)
    """
    return "--format=json" in arguments or ("--format", "json") in itertools.pairwise(arguments)
