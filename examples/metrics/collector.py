"""A collector: samples this machine into the table, and draws what machines have sampled.

    python collector.py run --every 10           until ^C or SIGTERM; nothing that was sampled is lost
    python collector.py show web-17 --last 1h    one machine
    python collector.py wall                     what all machines said in the last minute
    python collector.py summarise web-17         its yesterday, as one item
    python collector.py top                      the busiest of yesterday, of those that were summarised

The table is in metrics.db; `--db FILE`, `--endpoint URL` or `--aws` say where else.
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
"""Samples that are sent together."""
STOP = {signal.SIGINT, signal.SIGTERM}
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class Collector:
    """Takes samples and sends them in batches. What the table did not take waits, and is sent with the next."""

    def __init__(self, repository: MetricsRepository, machine: Machine, batch: int = BATCH) -> None:
        self.repository = repository
        self.machine = machine
        self.batch = batch
        self.waiting: list[Sample] = []

    def run(self, every: float) -> None:
        """Until somebody asks it to stop; then what is left is sent."""
        # Blocked, a signal cuts nothing short: it is asked for, between one sample and the next.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
        due, asked = time.monotonic(), None
        while not asked:
            self.waiting.append(self.machine.sample(dt.datetime.now(dt.UTC)))
            if len(self.waiting) >= self.batch:
                self.send()
            due = max(due + every, time.monotonic())
            asked = signal.sigtimedwait(STOP, max(0.0, due - time.monotonic()))
        if self.waiting:
            self.send()

    def send(self) -> None:
        try:
            # Twice is the same as once: a sample has the key of its machine and time.
            self.repository.record_samples(self.waiting)
        except (TableError, TransportError, DynamoDBError) as error:
            print(f"{len(self.waiting)} samples wait: {error}", file=sys.stderr, flush=True)
            return
        print(f"{len(self.waiting)} samples written", flush=True)
        self.waiting = []


def span(text: str) -> dt.timedelta:
    """A time as people write it.

    >>> span("90m")
    datetime.timedelta(seconds=5400)
    """
    if not (said := re.fullmatch(r"(\d+)([smhd])", text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 30s, 15m, 1h or 7d")
    return dt.timedelta(**{UNITS[said[2]]: int(said[1])})


def summarise(repository: MetricsRepository, host: str, day: dt.date) -> DaySummary:
    """One day of a host as one item. Done again it comes to the same."""
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


def place(said: argparse.Namespace) -> Embedded | Endpoint | AWS:
    if said.aws:
        return AWS()
    return Endpoint(said.endpoint) if said.endpoint else Embedded(said.db)


def arguments() -> argparse.ArgumentParser:
    where = argparse.ArgumentParser(add_help=False)
    one = where.add_mutually_exclusive_group()
    one.add_argument("--db", metavar="FILE", default="metrics.db", help="a file of the embedded engine; %(default)s")
    one.add_argument("--endpoint", metavar="URL", help="a server that speaks DynamoDB's protocol")
    one.add_argument("--aws", action="store_true", help="AWS itself; template.yaml makes the table")
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", parents=[where], help="sample this machine until it is stopped")
    run.add_argument("--host", default=socket.gethostname(), help="what this machine is called; %(default)s")
    run.add_argument("--service", default="default")
    run.add_argument("--region", default="here")
    run.add_argument("--every", type=float, default=10, metavar="SECONDS")
    run.add_argument("--batch", type=int, default=BATCH, metavar="SAMPLES")
    drawn = commands.add_parser("show", parents=[where], help="draw one machine")
    drawn.add_argument("host")
    drawn.add_argument("--last", type=span, default="1h", help="30s, 15m, 1h, 7d")
    commands.add_parser("wall", parents=[where], help="what all machines said in the last minute")
    summary = commands.add_parser("summarise", parents=[where], help="one day of a machine as one item")
    summary.add_argument("host")
    top = commands.add_parser("top", parents=[where], help="the busiest machines of a day")
    for command in (summary, top):
        command.add_argument("--day", type=dt.date.fromisoformat, help="yesterday, if not said")
    return parser


def main() -> int:
    said = arguments().parse_args()
    now = dt.datetime.now(dt.UTC)
    yesterday = now.date() - dt.timedelta(days=1)
    with place(said) as transport:
        db = Client(SCHEMA, TABLE, transport)
        if not said.aws:
            db.create_table(if_absent=True)
        repository = MetricsRepository(db)
        match said.command:
            case "run":
                resource = Resource(resource_id=said.host, service=said.service, region=said.region)
                repository.resource_reports_for_first_time(resource)
                collector = Collector(repository, Machine(said.host), said.batch)
                collector.run(said.every)
                return 1 if collector.waiting else 0
            case "show":
                print(show(repository, said.host, now - said.last, now))
            case "wall":
                print(wall(repository, now))
            case "summarise":
                print(summarise(repository, said.host, said.day or yesterday))
            case "top":
                print(league(repository, said.day or yesterday))
    return 0


if __name__ == "__main__":
    sys.exit(main())
