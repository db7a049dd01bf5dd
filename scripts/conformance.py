"""Renew docs/conformance.md from results of other people's test suites, which are not ours to include.

    scripts/conformance.py                                        write the page again from docs/conformance.json
    scripts/conformance.py alternator:prejoin=results.xml …       read results first: SUITE:SERVER=FILE

A file is JUnit XML (pytest), or the JSON of vitest or mocha. Several files of one suite and server are added
up. The counts, and the names of the tests that prejoin fails, are kept in docs/conformance.json. Why a test fails is
written by hand in docs/conformance.toml, with a pattern of names; a failure without a reason is an error.
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

DOCS = Path(__file__).parent.parent / "docs"
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


def render(kept: dict[str, Any], reasons: dict[str, Any]) -> tuple[str, list[str]]:
    """The page, and the failures that have no reason."""
    lines = [reasons["introduction"].strip(), "", *_summary(kept, reasons)]
    unexplained: list[str] = []
    for name, suite in reasons["suites"].items():
        explained: Counter[str] = Counter()
        for failure in kept.get(name, {}).get("failures", ()):
            why = next((why for why in suite.get("reasons", ()) if re.search(why["tests"], failure)), None)
            if why is None:
                unexplained.append(f"{name}: {failure}")
            else:
                explained[why["reason"]] += 1
        if explained:
            lines += ["", f"## {suite['short']}: what fails, and why", "", "| Tests | Reason |", "| --- | --- |"]
            lines += [f"| {number} | {reason} |" for reason, number in explained.most_common()]
    return "\n".join([*lines, "", reasons["conclusion"].strip(), ""]), unexplained


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
    data = DOCS / "conformance.json"
    kept: dict[str, Any] = json.loads(data.read_text()) if data.exists() else {}
    take_in(kept, arguments)
    page, unexplained = render(kept, tomllib.loads((DOCS / "conformance.toml").read_text()))
    if unexplained:
        sys.exit("\n".join([*unexplained, f"{len(unexplained)} failures have no reason in docs/conformance.toml"]))
    data.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    (DOCS / "conformance.md").write_text(page)


if __name__ == "__main__":
    main(sys.argv[1:])
