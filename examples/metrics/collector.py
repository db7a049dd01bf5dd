"""Samples this machine into the table, and draws the samples of all machines.

    python collector.py run --every 10           sample until ^C or SIGTERM, without losing samples
    python collector.py show web-17 --last 1h    draw one machine
    python collector.py wall                     the last minute of all machines
    python collector.py summarise web-17         summarise its yesterday as one item
    python collector.py top                      the busiest machines of yesterday, by their summaries

The table is in metrics.db; `--db FILE`, `--endpoint URL` or `--aws` select another location.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import signal
import socket
import sys
import time

from prejoin import AWS, Client, DynamoDBError, Embedded, Endpoint, TableError, TransportError

from drawing import league, samples_of, show, wall
from machine import Machine
from metrics.entities import DaySummary, Resource, Sample
from metrics.repository import MetricsRepository
from metrics.schema import SCHEMA, TABLE

BATCH = 5
"""The number of samples in a batch."""
STOP = {signal.SIGINT, signal.SIGTERM}
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class Collector:
    """Takes samples and sends them in batches. Samples that could not be sent are sent with the next batch."""

    def __init__(self, repository: MetricsRepository, machine: Machine, batch: int = BATCH) -> None:
        self.repository = repository
        self.machine = machine
        self.batch = batch
        self.waiting: list[Sample] = []

    def run(self, every: float) -> None:
        """Samples until a signal to stop, then sends the remaining samples."""
        # The signals are blocked, so that none interrupts a write, and polled between samples.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
        due, stop = time.monotonic(), None
        while not stop:
            self.waiting.append(self.machine.sample(dt.datetime.now(dt.UTC)))
            if len(self.waiting) >= self.batch:
                self.send()
            due = max(due + every, time.monotonic())
            stop = signal.sigtimedwait(STOP, max(0.0, due - time.monotonic()))
        if self.waiting:
            self.send()

    def send(self) -> None:
        try:
            # Samples may be sent twice: machine and time are the key.
            self.repository.record_samples(self.waiting)
        except (TableError, TransportError, DynamoDBError) as error:
            print(f"{len(self.waiting)} samples wait: {error}", file=sys.stderr, flush=True)
            return
        print(f"{len(self.waiting)} samples written", flush=True)
        self.waiting = []


def span(text: str) -> dt.timedelta:
    """A duration from its short form.

    >>> span("90m")
    datetime.timedelta(seconds=5400)
    """
    if not (match := re.fullmatch(r"(\d+)([smhd])", text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 30s, 15m, 1h or 7d")
    return dt.timedelta(**{UNITS[match[2]]: int(match[1])})


def summarise(repository: MetricsRepository, host: str, day: dt.date) -> DaySummary:
    """Writes the summary of a day of a host. It can be repeated."""
    start = dt.datetime.combine(day, dt.time(), dt.UTC)
    found = list(samples_of(repository, host, start, start + dt.timedelta(days=1, microseconds=-1)))
    summary = DaySummary(
        resource_id=host,
        day=day,
        samples=len(found),
        traffic=sum(sample.traffic for sample in found),
        cpu_max=max((sample.cpu for sample in found), default=0),
    )
    repository.write_day_summary(summary)
    return summary


def place(options: argparse.Namespace) -> Embedded | Endpoint | AWS:
    if options.aws:
        return AWS()
    return Endpoint(options.endpoint) if options.endpoint else Embedded(options.db)


def arguments() -> argparse.ArgumentParser:
    location = argparse.ArgumentParser(add_help=False)
    group = location.add_mutually_exclusive_group()
    group.add_argument("--db", metavar="FILE", default="metrics.db", help="a file of the embedded engine; %(default)s")
    group.add_argument("--endpoint", metavar="URL", help="a DynamoDB-compatible server")
    group.add_argument("--aws", action="store_true", help="AWS; template.yaml creates the table")
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", parents=[location], help="sample this machine until ^C or SIGTERM")
    run.add_argument("--host", default=socket.gethostname(), help="the name of this machine; %(default)s")
    run.add_argument("--service", default="default")
    run.add_argument("--region", default="here")
    run.add_argument("--every", type=float, default=10, metavar="SECONDS")
    run.add_argument("--batch", type=int, default=BATCH, metavar="SAMPLES")
    show_parser = commands.add_parser("show", parents=[location], help="draw one machine")
    show_parser.add_argument("host")
    show_parser.add_argument("--last", type=span, default="1h", help="30s, 15m, 1h, 7d")
    commands.add_parser("wall", parents=[location], help="show the last minute of all machines")
    summary = commands.add_parser("summarise", parents=[location], help="summarise a day of a machine as one item")
    summary.add_argument("host")
    top = commands.add_parser("top", parents=[location], help="list the busiest machines of a day")
    for command in (summary, top):
        command.add_argument("--day", type=dt.date.fromisoformat, help="default: yesterday")
    return parser


def main() -> int:
    options = arguments().parse_args()
    now = dt.datetime.now(dt.UTC)
    yesterday = now.date() - dt.timedelta(days=1)
    with place(options) as transport:
        db = Client(SCHEMA, TABLE, transport)
        if not options.aws:
            db.create_table(if_absent=True)
        repository = MetricsRepository(db)
        match options.command:
            case "run":
                resource = Resource(resource_id=options.host, service=options.service, region=options.region)
                repository.resource_reports_for_first_time(resource)
                collector = Collector(repository, Machine(options.host), options.batch)
                collector.run(options.every)
                return 1 if collector.waiting else 0
            case "show":
                print(show(repository, options.host, now - options.last, now))
            case "wall":
                print(wall(repository, now))
            case "summarise":
                print(summarise(repository, options.host, options.day or yesterday))
            case "top":
                print(league(repository, options.day or yesterday))
    return 0


if __name__ == "__main__":
    sys.exit(main())
