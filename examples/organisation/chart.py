"""The chart of a company at the command line: who is where, and who reports to whom.

    python chart.py load acme company.csv
    python chart.py show acme                            the company: its divisions, teams and people
    python chart.py show acme --division sales           one division
    python chart.py reports ben@acme.example             a person, and all who report to them
    python chart.py move fay@acme.example engineering platform --manager dao@acme.example
    python chart.py leave gus@acme.example

The table is in organisation.db; `--db FILE`, `--endpoint URL` or `--aws` say where else.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence

from prejoin import AWS, Client, Embedded, Endpoint

from charts import ChartError, Charts
from organisation.repository import OrganisationRepository
from organisation.schema import SCHEMA, TABLE


def run(charts: Charts, said: argparse.Namespace) -> None:
    match said.command:
        case "load":
            with open(said.file, encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            charts.load(said.company, rows)
            print(f"{len(rows)} people")
        case "show":
            chart = charts.division(said.company, said.division) if said.division else charts.company(said.company)
            print("\n".join(chart.lines()))
        case "reports":
            print("\n".join(charts.reports(charts.person(said.email)).lines()))
        case "move":
            manager = charts.person(said.manager) if said.manager else None
            charts.move(charts.person(said.email), said.division, said.team, manager)
        case "leave":
            charts.leave(charts.person(said.email))


def place(said: argparse.Namespace) -> Embedded | Endpoint | AWS:
    if said.aws:
        return AWS()
    return Endpoint(said.endpoint) if said.endpoint else Embedded(said.db)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--db", metavar="FILE", default="organisation.db", help="a file of the embedded engine")
    one.add_argument("--endpoint", metavar="URL", help="a server that speaks DynamoDB's protocol")
    one.add_argument("--aws", action="store_true", help="AWS itself; template.yaml makes the table")
    commands = parser.add_subparsers(dest="command", required=True)
    load = commands.add_parser("load", help="enter a company from a file of comma-separated values")
    load.add_argument("company")
    load.add_argument("file")
    show = commands.add_parser("show", help="a company, or one division")
    show.add_argument("company")
    show.add_argument("--division")
    reports = commands.add_parser("reports", help="a person, and all who report to them")
    reports.add_argument("email")
    move = commands.add_parser("move", help="put a person into another team, under another manager")
    for name in ("email", "division", "team"):
        move.add_argument(name)
    move.add_argument("--manager", metavar="EMAIL", help="nobody, if not said")
    leave = commands.add_parser("leave", help="a person leaves")
    leave.add_argument("email")
    return parser


def main(words: Sequence[str] | None = None) -> int:
    said = arguments().parse_args(words)
    with place(said) as transport:
        db = Client(SCHEMA, TABLE, transport)
        if not said.aws:
            db.create_table(if_absent=True)
        try:
            run(Charts(OrganisationRepository(db)), said)
        except (ChartError, FileNotFoundError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
