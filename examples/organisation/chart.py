"""The chart of a company on the command line: divisions, teams, people, and reporting lines.

    python chart.py load acme company.csv
    python chart.py show acme                            the company: its divisions, teams and people
    python chart.py show acme --division sales           one division
    python chart.py reports ben@acme.example             a person and their direct and indirect reports
    python chart.py move fay@acme.example engineering platform --manager dao@acme.example
    python chart.py leave gus@acme.example

The table is in organisation.db; `--db FILE`, `--endpoint URL` or `--aws` select another location.
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


def run(charts: Charts, options: argparse.Namespace) -> None:
    match options.command:
        case "load":
            with open(options.file, encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            charts.load(options.company, rows)
            print(f"{len(rows)} people")
        case "show":
            chart = (
                charts.division(options.company, options.division)
                if options.division
                else charts.company(options.company)
            )
            print("\n".join(chart.lines()))
        case "reports":
            print("\n".join(charts.reports(charts.person(options.email)).lines()))
        case "move":
            manager = charts.person(options.manager) if options.manager else None
            charts.move(charts.person(options.email), options.division, options.team, manager)
        case "leave":
            charts.leave(charts.person(options.email))


def place(options: argparse.Namespace) -> Embedded | Endpoint | AWS:
    if options.aws:
        return AWS()
    return Endpoint(options.endpoint) if options.endpoint else Embedded(options.db)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    location = parser.add_mutually_exclusive_group()
    location.add_argument("--db", metavar="FILE", default="organisation.db", help="a file of the embedded engine")
    location.add_argument("--endpoint", metavar="URL", help="a DynamoDB-compatible server")
    location.add_argument("--aws", action="store_true", help="AWS; template.yaml creates the table")
    commands = parser.add_subparsers(dest="command", required=True)
    load = commands.add_parser("load", help="load a company from a CSV file")
    load.add_argument("company")
    load.add_argument("file")
    show = commands.add_parser("show", help="show a company, or one division")
    show.add_argument("company")
    show.add_argument("--division")
    reports = commands.add_parser("reports", help="show a person and their direct and indirect reports")
    reports.add_argument("email")
    move = commands.add_parser("move", help="move a person to another team and manager")
    for name in ("email", "division", "team"):
        move.add_argument(name)
    move.add_argument("--manager", metavar="EMAIL", help="default: no manager")
    leave = commands.add_parser("leave", help="remove a person")
    leave.add_argument("email")
    return parser


def main(words: Sequence[str] | None = None) -> int:
    options = arguments().parse_args(words)
    with place(options) as transport:
        db = Client(SCHEMA, TABLE, transport)
        if not options.aws:
            db.create_table(if_absent=True)
        try:
            run(Charts(OrganisationRepository(db)), options)
        except (ChartError, FileNotFoundError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
