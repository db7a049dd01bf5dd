"""A folder in place of S3: each of its folders is a bucket, and a key is a path in it."""

from __future__ import annotations

import re
from pathlib import Path

from prejoin.protocol.errors import refuse

_BUCKET = re.compile(r"[a-z0-9A-Z][.\-\w]++(?<=[a-z0-9A-Z])")


class BucketError(Exception):
    """An export or import fails, because S3 would refuse it. `code` is the FailureCode."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def failure(error: BucketError | OSError) -> dict[str, str]:
    """How the description of an export or import tells that it failed."""
    # An error of the file system, such as a full disk, has no code of S3.
    code = error.code if isinstance(error, BucketError) else "S3InternalError"
    return {"FailureCode": code, "FailureMessage": str(error)}


def check_bucket(name: str) -> None:
    if not _BUCKET.fullmatch(name) or len(name) > 255:
        refuse(f"One or more parameter values were invalid: {name!r} is not the name of an S3 bucket")


def check_key(key: str) -> None:
    """Refuse a key that is not a path inside of its bucket."""
    # S3 has such keys. Here they would lead out of the folder of the bucket, or to no file at all.
    if "\0" in key or "\\" in key or key.startswith("/") or ".." in key.split("/") or len(key) > 1024:
        refuse(f"One or more parameter values were invalid: {key!r} is not a key of an S3 object here")


def find_bucket(folder: str | None, name: str) -> Path:
    """The folder of a bucket. It has to be there already, as a bucket of S3."""
    if folder is None:
        raise BucketError(
            "S3NoSuchBucket",
            "The engine has no buckets: give it a folder, with Embedded(buckets=…) or prejoin serve --buckets",
        )
    bucket = Path(folder) / name
    if not bucket.is_dir():
        raise BucketError("S3NoSuchBucket", f"The specified bucket does not exist: there is no folder {bucket}")
    return bucket


def objects(bucket: Path, prefix: str) -> list[Path]:
    """The files whose keys begin with a prefix, in the order of their keys. Links are not followed."""
    # A key has slashes on every system.
    paths_by_key = {path.relative_to(bucket).as_posix(): path for path in bucket.rglob("*") if _is_object(path)}
    return [paths_by_key[key] for key in sorted(paths_by_key) if key.startswith(prefix)]


def _is_object(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
