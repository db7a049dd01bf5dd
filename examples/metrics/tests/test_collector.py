"""The collector: stopped and killed as a process, and in this process with fixed times."""

from __future__ import annotations

import datetime as dt
import re
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from prejoin import Call, Client, Embedded

from collector import Collector, summarise
from drawing import league, samples_of, show, wall
from machine import KEPT, Machine
from metrics.entities import DaySummary, Resource, Sample
from metrics.repository import MetricsRepository
from metrics.schema import SCHEMA, TABLE

HERE = Path(__file__).resolve().parents[1]
MIDNIGHT = dt.datetime.now(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
SECOND = dt.timedelta(seconds=1)


@pytest.fixture
def repository(prejoin_engine: Embedded) -> MetricsRepository:
    db = Client(SCHEMA, TABLE, prejoin_engine)
    db.create_table()
    return MetricsRepository(db)


def sample(host: str, at: dt.datetime, cpu: int = 10) -> Sample:
    ends = int((at + KEPT).timestamp())
    return Sample(resource_id=host, recorded_at=at, cpu=cpu, memory=50, traffic=1, expires_at=ends)


def started(*more: str) -> subprocess.Popen[str]:
    """Starts the collector as a process, with samples in quick succession."""
    command = [sys.executable, "collector.py", "run", "--host", "web-17", "--every", "0.02", "--batch", "4", *more]
    return subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, text=True)


def written(lines: str) -> int:
    """The number of samples that the collector reported as written."""
    return sum(int(number) for number in re.findall(r"^(\d+) samples written$", lines, re.MULTILINE))


def stored(transport: Embedded) -> list[Sample]:
    repository = MetricsRepository(Client(SCHEMA, TABLE, transport))
    now = dt.datetime.now(dt.UTC)
    return list(samples_of(repository, "web-17", now - dt.timedelta(hours=1), now))


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_signal_sends_the_remaining_samples(stop: signal.Signals, tmp_path: Path) -> None:
    with started("--db", str(tmp_path / "metrics.db")) as process:
        assert process.stdout
        output = process.stdout.readline() + process.stdout.readline()
        process.send_signal(stop)
        output += process.stdout.read()
    assert process.returncode == 0
    with Embedded(tmp_path / "metrics.db") as engine:
        found = stored(engine)
        known = MetricsRepository(Client(SCHEMA, TABLE, engine)).one_resource("web-17")
    assert len(found) == written(output) >= 8
    assert known == Resource(resource_id="web-17", service="default", region="here")


def test_kill_loses_no_written_samples(tmp_path: Path) -> None:
    with started("--db", str(tmp_path / "metrics.db")) as process:
        assert process.stdout
        output = "".join(process.stdout.readline() for _ in range(3))
        process.kill()
        output += process.stdout.read()
    with Embedded(tmp_path / "metrics.db") as engine:
        assert len(stored(engine)) >= written(output) >= 12


def test_collector_over_http(prejoin_engine: Embedded, prejoin_url: str) -> None:
    with started("--endpoint", prejoin_url) as process:
        assert process.stdout
        output = process.stdout.readline()
        process.terminate()
        output += process.stdout.read()
    assert process.returncode == 0
    assert len(stored(prejoin_engine)) == written(output) >= 4


def test_failed_samples_are_sent_with_the_next_batch(
    prejoin_engine: Embedded, capsys: pytest.CaptureFixture[str]
) -> None:
    db = Client(SCHEMA, TABLE, prejoin_engine)  # its table does not exist yet
    collector = Collector(MetricsRepository(db), Machine("web-17"))
    collector.waiting = [sample("web-17", MIDNIGHT), sample("web-17", MIDNIGHT + SECOND)]
    collector.send()
    assert "2 samples wait: " in capsys.readouterr().err
    db.create_table()
    collector.waiting.append(sample("web-17", MIDNIGHT + 2 * SECOND))
    collector.send()
    assert capsys.readouterr().out == "3 samples written\n"
    assert collector.waiting == []
    assert len(list(samples_of(collector.repository, "web-17", MIDNIGHT, MIDNIGHT + 2 * SECOND))) == 3


def test_sample_has_the_values_of_proc(tmp_path: Path) -> None:
    dev = tmp_path / "net" / "dev"
    dev.parent.mkdir()
    row = "{}: {} 1 0 0 0 0 0 0 {} 1 0 0 0 0 0 0\n"
    dev.write_text("\n\n" + row.format("lo", 900, 900) + row.format("eth0", 100, 10))
    (tmp_path / "meminfo").write_text("MemTotal:  4000 kB\nMemFree:  500 kB\nMemAvailable:  1000 kB\n")
    machine = Machine("web-17", tmp_path)
    dev.write_text("\n\n" + row.format("lo", 999, 999) + row.format("eth0", 150, 12))
    taken = machine.sample(MIDNIGHT)
    assert (taken.memory, taken.traffic, taken.expires_at) == (75, 52, int((MIDNIGHT + KEPT).timestamp()))
    dev.write_text("\n\n" + row.format("eth0", 5, 5))  # the interface was taken down and up
    assert machine.sample(MIDNIGHT).traffic == 0


def test_range_across_midnight_is_one_paged_query(repository: MetricsRepository) -> None:
    start = MIDNIGHT - dt.timedelta(minutes=10)
    times = [start + SECOND * number for number in range(1200)]
    repository.record_samples([sample("web-17", at) for at in times])
    repository.record_samples([sample("web-18", at) for at in times[:50]])
    found = list(samples_of(repository, "web-17", times[10], times[-10]))
    assert [one.recorded_at for one in found] == times[10:-9]
    assert repository.resource_over_span_of_time("web-17", times[0], times[-1]).cursor


def test_the_wall_reads_both_days_and_all_shards_at_midnight(prejoin_engine: Embedded) -> None:
    calls: list[Call] = []
    repository = MetricsRepository(Client(SCHEMA, TABLE, prejoin_engine, observe=calls.append))
    repository.db.create_table()
    hosts = [f"web-{number}" for number in range(1100)]  # more than a page
    repository.record_samples([sample(host, MIDNIGHT - 20 * SECOND, cpu=20) for host in hosts])
    repository.record_samples([sample(host, MIDNIGHT + 10 * SECOND, cpu=90) for host in hosts[:500]])
    calls.clear()
    output = wall(repository, MIDNIGHT + 30 * SECOND).splitlines()[1:]
    assert {(line.split()[0], line.split()[1]) for line in output} == {
        *((host, "90") for host in hosts[:500]),
        *((host, "20") for host in hosts[500:]),
    }
    days = {call.key.split(" ")[0] for call in calls}
    assert days == {f"ALL#SAMPLE#{day:%Y-%m-%d}#{shard}" for day in (MIDNIGHT - SECOND, MIDNIGHT) for shard in (0, 1)}
    assert wall(repository, MIDNIGHT + 55 * SECOND).splitlines()[1:] == [line for line in output if " 90 " in line]


def test_samples_of_many_hosts_use_all_shards(repository: MetricsRepository) -> None:
    repository.record_samples([sample(f"web-{number}", MIDNIGHT) for number in range(200)])
    counts = []
    for shard in (0, 1):
        answer = repository.db.call(
            "Query",
            {
                "IndexName": "gsi1",
                "KeyConditionExpression": "gsi1pk = :all",
                "ExpressionAttributeValues": {":all": {"S": f"ALL#SAMPLE#{MIDNIGHT:%Y-%m-%d}#{shard}"}},
                "Select": "COUNT",
            },
        )
        counts.append(answer["Count"])
    assert sum(counts) == 200
    assert min(counts) > 60


def test_samples_expire_after_thirty_days_and_summaries_stay(
    repository: MetricsRepository, prejoin_engine: Embedded
) -> None:
    old = MIDNIGHT - KEPT
    repository.record_samples([sample("web-17", old - SECOND), sample("web-17", old + dt.timedelta(days=2))])
    repository.write_day_summary(
        DaySummary(resource_id="web-17", day=old.date(), samples=1, traffic=1, cpu_max=10),
    )
    # Expired items are not shown, though DynamoDB takes days to remove them.
    assert len(list(samples_of(repository, "web-17", old - SECOND, MIDNIGHT))) == 1
    assert prejoin_engine.expire(MIDNIGHT.timestamp()) == 1
    assert prejoin_engine.expire((MIDNIGHT + KEPT).timestamp()) == 1
    assert len(repository.resource_days_in_span("web-17", old.date(), MIDNIGHT.date())) == 1


def test_a_day_is_summarised_from_midnight_to_midnight(repository: MetricsRepository) -> None:
    yesterday = MIDNIGHT - dt.timedelta(days=1)
    within = [sample("web-17", yesterday, cpu=30), sample("web-17", MIDNIGHT - SECOND, cpu=70)]
    repository.record_samples([sample("web-17", yesterday - SECOND), *within, sample("web-17", MIDNIGHT)])
    summary = summarise(repository, "web-17", yesterday.date())
    assert (summary.samples, summary.traffic, summary.cpu_max) == (2, 2, 70)
    assert summarise(repository, "web-17", yesterday.date()) == summary
    assert list(repository.resource_days_in_span("web-17", yesterday.date(), MIDNIGHT.date())) == [summary]


def test_leaderboard_sorts_numbers(repository: MetricsRepository) -> None:
    day = MIDNIGHT.date()
    for number, most in enumerate(["9", "9.5", "10", "100", "0", *["1"] * 10]):
        summary = DaySummary(resource_id=f"web-{number}", day=day, samples=1, traffic=1, cpu_max=Decimal(most))
        repository.write_day_summary(summary)
    lines = league(repository, day).splitlines()
    assert len(lines) == 10
    assert [line.split()[1] for line in lines][:4] == ["web-3", "web-2", "web-1", "web-0"]
    last = DaySummary(resource_id="web-4", day=day, samples=2, traffic=1, cpu_max=Decimal("99.9"))
    repository.write_day_summary(last)  # the job was repeated: one entry, not two
    assert [line.split()[1] for line in league(repository, day).splitlines()][:3] == ["web-3", "web-4", "web-2"]


def test_chart_has_a_gap_without_samples(repository: MetricsRepository) -> None:
    cpus = {0: 40, 1: 20, 3: 40}
    repository.record_samples([sample("web-17", MIDNIGHT + minute * 60 * SECOND, cpu) for minute, cpu in cpus.items()])
    head, cpu, *_ = show(repository, "web-17", MIDNIGHT, MIDNIGHT + 240 * SECOND, width=4).splitlines()
    assert head.endswith(f"{MIDNIGHT:%Y-%m-%d} 00:04:00 UTC: 3 samples")
    assert cpu == "cpu      █▅ █  at most 40 %"
    assert show(repository, "nobody", MIDNIGHT, MIDNIGHT + SECOND).endswith("0 samples")
