"""A queue with leases: a job that is taken and not finished in time is taken again.

`ready_at` is when a job may be taken. Taking it moves `ready_at` to the end of the lease, on the condition that nobody
else has: of two workers that see the same job, one gets it. Finishing it is refused if the lease has ended and somebody
else has the job.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from prejoin import Client, ConditionFailed, Entity, Index, Key, NotFound, Schema, ulid


@dataclass
class Job:
    queue: str
    job_id: str
    body: str
    ready_at: datetime
    attempts: int = 0
    """How often it was taken. After too many, put it elsewhere instead of doing it."""


SCHEMA = Schema(
    Entity(Job, Key("JOB#{job_id}", "JOB"), indexes={"ready": Key("QUEUE#{queue}", "{ready_at}#{job_id}")}),
    indexes=[Index("ready")],
)


def add(db: Client, queue: str, body: str, delay: timedelta = timedelta()) -> Job:
    return db.insert(Job(queue, ulid(), body, datetime.now(UTC) + delay))


def take(db: Client, queue: str, lease: timedelta = timedelta(minutes=1)) -> Job | None:
    """Take the job that has waited longest; None if there is none."""
    now = datetime.now(UTC)
    for job in db.query(Job, lambda one: one.ready_at <= now, queue=queue, limit=10):
        try:
            return _move(db, job, now + lease, job.attempts + 1)
        except (ConditionFailed, NotFound):
            continue  # another worker was first
    return None


def finish(db: Client, job: Job) -> bool:
    """Remove a job that is done; False if the lease has ended and somebody else has it, or has done it."""
    try:
        db.delete(Job, job_id=job.job_id, where=lambda one: one.ready_at == job.ready_at)
    except (ConditionFailed, NotFound):
        return False
    return True


def extend(db: Client, job: Job, lease: timedelta = timedelta(minutes=1)) -> Job:
    """Keep a job for longer. Raises ConditionFailed if somebody else has it."""
    return _move(db, job, datetime.now(UTC) + lease, job.attempts)


def _move(db: Client, job: Job, ready_at: datetime, attempts: int) -> Job:
    moved = replace(job, ready_at=ready_at, attempts=attempts)
    with db.update(Job, where=lambda one: one.ready_at == job.ready_at, job_id=job.job_id, queue=job.queue) as one:
        one.ready_at = ready_at
        one.attempts = attempts
    return moved
