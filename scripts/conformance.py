"""Writes docs/conformance/README.md and failures.md from results of other projects' test suites.

The repository does not include these suites.

    scripts/conformance.py                                     write the pages again from docs/conformance/results.json
    scripts/conformance.py alternator:prejoin=results.xml …    read results first: SUITE:SERVER=FILE

A file is JUnit XML (pytest), or the JSON of vitest or mocha. Several files of one suite and server are added
up. The counts, and the names of the tests that prejoin fails, are kept in docs/conformance/results.json. Why a test
fails is written by hand in docs/conformance/reasons.toml, with a pattern of names; a failure without a reason is an
error.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

PAGES = Path(__file__).parent.parent / "docs" / "conformance"
OURS = "prejoin"
SERVERS = {OURS: "prejoin", "local": "DynamoDB Local", "dynoxide": "dynoxide"}
NOT_RUN = "–"


def read_results(path: Path) -> Iterator[tuple[str, str]]:
    """The name of each test of a file of results, and whether it is passed, failed or skipped."""
    if path.suffix == ".xml":
        yield from _junit(path)
        return
    content = json.loads(path.read_text())
    if "testResults" in content:
        for file in content["testResults"]:
            for test in file["assertionResults"]:
                yield test["fullName"], {"passed": "passed", "failed": "failed"}.get(test["status"], "skipped")
    else:
        for status, member in (("passed", "passes"), ("failed", "failures"), ("skipped", "pending")):
            yield from ((test["fullTitle"], status) for test in content[member])


def _junit(path: Path) -> Iterator[tuple[str, str]]:
    found: dict[str, str] = {}
    for test in ElementTree.parse(path).iter("testcase"):
        name = f"{test.get('classname')}.{test.get('name')}"
        marks = {child.tag for child in test}
        status = "failed" if marks & {"failure", "error"} else "skipped" if "skipped" in marks else "passed"
        if found.get(name) != "failed":  # a test whose teardown fails is there twice
            found[name] = status
    yield from found.items()


def take_in(kept: dict[str, Any], arguments: list[str]) -> None:
    """Replace the kept results of each suite and server that is given."""
    given: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for argument in arguments:
        match = re.fullmatch(r"(\w+):(\w+)=(.+)", argument)
        if match is None or match.group(2) not in SERVERS:
            sys.exit(f"{argument!r} is not SUITE:SERVER=FILE, with a server of {', '.join(SERVERS)}")
        given[match.group(1), match.group(2)].append(Path(match.group(3)))
    for (suite, server), paths in given.items():
        results = [result for path in paths for result in read_results(path)]
        counts = Counter(status for _, status in results)
        kept.setdefault(suite, {})[server] = {status: counts[status] for status in ("passed", "failed", "skipped")}
        if server == OURS:
            kept[suite]["failures"] = sorted(name for name, status in results if status == "failed")


Explained = dict[str, dict[str, list[str]]]
"""By suite, and by reason: the tests that prejoin fails."""


def explain(kept: dict[str, Any], reasons: dict[str, Any]) -> tuple[Explained, list[str]]:
    """The reason of each failure, and the failures that have none."""
    explained: Explained = {}
    unexplained: list[str] = []
    for name, suite in reasons["suites"].items():
        by_reason: defaultdict[str, list[str]] = defaultdict(list)
        for failure in kept.get(name, {}).get("failures", ()):
            why = next((why for why in suite.get("reasons", ()) if re.search(why["tests"], failure)), None)
            if why is None:
                unexplained.append(f"{name}: {failure}")
            else:
                by_reason[why["reason"]].append(failure)
        explained[name] = dict(sorted(by_reason.items(), key=lambda pair: -len(pair[1])))
    return explained, unexplained


def render(kept: dict[str, Any], reasons: dict[str, Any], explained: Explained) -> str:
    """The page: how many tests pass, and why others do not."""
    lines = [reasons["introduction"].strip(), "", *_summary(kept, reasons)]
    for name, by_reason in explained.items():
        if by_reason:
            title = f"## {reasons['suites'][name]['short']}: what fails, and why"
            lines += ["", title, "", "| Tests | Reason |", "| --- | --- |"]
            lines += [f"| {len(tests)} | {reason} |" for reason, tests in by_reason.items()]
    return "\n".join([*lines, "", reasons["conclusion"].strip(), ""])


def render_failures(reasons: dict[str, Any], explained: Explained) -> str:
    """The page with the name of every test that fails."""
    lines = ["# Every test that fails", "", reasons["failures"].strip()]
    for name, by_reason in explained.items():
        if by_reason:
            lines += ["", f"## {reasons['suites'][name]['title']}"]
        for reason, tests in by_reason.items():
            numbers = Counter(tests)  # some suites have several tests of one name
            lines += ["", f"**{reason}**", ""]
            lines += [f"- `{test}`" + (f" ({number} times)" if number > 1 else "") for test, number in numbers.items()]
    return "\n".join([*lines, ""])


def _summary(kept: dict[str, Any], reasons: dict[str, Any]) -> list[str]:
    lines = [
        f"| Suite | Tests | {' | '.join(SERVERS.values())} | prejoin fails | prejoin skips |",
        "| --- | --- |" + " --- |" * (len(SERVERS) + 2),
    ]
    for name, suite in reasons["suites"].items():
        if (ours := kept.get(name, {}).get(OURS)) is None:
            continue
        passed = [str(kept[name][server]["passed"]) if server in kept[name] else NOT_RUN for server in SERVERS]
        cells = [suite["title"], str(sum(ours.values())), *passed, str(ours["failed"]), str(ours["skipped"])]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main(arguments: list[str]) -> None:
    data = PAGES / "results.json"
    kept: dict[str, Any] = json.loads(data.read_text()) if data.exists() else {}
    take_in(kept, arguments)
    reasons = tomllib.loads((PAGES / "reasons.toml").read_text())
    explained, unexplained = explain(kept, reasons)
    if unexplained:
        summary = f"{len(unexplained)} failures have no reason in docs/conformance/reasons.toml"
        sys.exit("\n".join([*unexplained, summary]))
    data.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    (PAGES / "README.md").write_text(render(kept, reasons, explained))
    (PAGES / "failures.md").write_text(render_failures(reasons, explained))


if __name__ == "__main__":
    main(sys.argv[1:])
