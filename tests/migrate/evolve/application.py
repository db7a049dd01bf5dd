"""An application in several versions that reads and writes while a table changes, and checks each result."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from prejoin import Client, Embedded
from prejoin.migrate.evolve.transition import CodeVersion
from prejoin.proof.package import LoadedPackage

_STATUSES = ("OPEN", "PAID", "SENT")
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Killed(BaseException):
    """The worker was killed."""


class Application:
    """The expected contents of the table, and the versions of the code that run."""

    def __init__(self, engine: Embedded, seed: int) -> None:
        self.engine = engine
        self.random = random.Random(seed)
        self.users: dict[str, dict[str, Any]] = {}
        self.orders: dict[str, dict[str, Any]] = {}
        self.running: list[tuple[LoadedPackage, Client]] = []
        self.checked = 0
        self._written: dict[str, Any] = {}
        """The last written record."""
        self._number = 0

    def run(self, *versions: CodeVersion) -> None:
        """Sets the running versions."""
        packages = [one.package for one in versions]
        self.running = [(one, Client(one.schema, "shop", self.engine)) for one in packages]

    def act(self) -> None:
        """Writes with one version, then reads with all."""
        package, client = self.random.choice(self.running)
        self._write(package, client)
        for package, client in self.running:
            self._read(package, client)

    def _write(self, package: LoadedPackage, client: Client) -> None:
        self._number += 1
        what = self.random.choice(("register", "email", "place", "place", "status", "status", "total", "cancel"))
        if what == "register" or not self.users:
            user = {"user_id": f"u{self._number}", "email": f"{self._number}@x", "name": "N"}
            self._save(package, client, "AP-010", user)
            self.users[user["user_id"]] = user
        elif what == "email":
            user = self.users[self.random.choice(sorted(self.users))]
            user["email"] = f"{self._number}@y"
            self._save(package, client, "AP-011", user)
        elif what == "place" or not self.orders:
            order: dict[str, Any] = {
                "order_id": f"o{self._number}",
                "user_id": self.random.choice(sorted(self.users)),
                "placed_at": _BEGIN + timedelta(seconds=self._number),
                "status": self.random.choice(_STATUSES),
                "total": self._number,
            }
            self._save(package, client, "AP-012", order)
            self.orders[order["order_id"]] = order
        else:
            order = self.orders[self.random.choice(sorted(self.orders))]
            if what == "status":
                order["status"] = self.random.choice(_STATUSES)
                self._save(package, client, "AP-013", order)
            elif what == "total":
                order["total"] = self._number
                self._save(package, client, "AP-014", order)
            else:
                self._save(package, client, "AP-020", order)
                del self.orders[order["order_id"]]

    def _read(self, package: LoadedPackage, client: Client) -> None:
        user = self._written.get("user_id") or self.random.choice(sorted(self.users))
        order = self._written.get("order_id") or self.random.choice([*sorted(self.orders), "none"])
        status = self._written.get("status") or self.random.choice(_STATUSES)
        email = self.users[user]["email"]
        expected: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
            "AP-001": ({"user_id": user}, [self.users[user]]),
            "AP-002": ({"user_id": user}, [o for o in self.orders.values() if o["user_id"] == user]),
            "AP-003": ({"order_id": order}, [self.orders[order]] if order in self.orders else []),
            "AP-004": ({"status": status}, [o for o in self.orders.values() if o["status"] == status]),
            "AP-005": ({"email": email}, [self.users[user]]),
        }
        for pattern, (arguments, records) in expected.items():
            if pattern in package.methods:
                answer = self._call(package, client, pattern, arguments)
                found = [] if answer is None else list(answer) if isinstance(answer, list) else [answer]
                found = found if not hasattr(answer, "items") else list(answer.items)
                got = [{name: _plain(getattr(one, name)) for name in records[0]} if records else one for one in found]
                assert got == records, (pattern, arguments)
                self.checked += 1

    def _save(self, package: LoadedPackage, client: Client, pattern: str, values: dict[str, Any]) -> None:
        self._call(package, client, pattern, values)
        self._written = values

    def _call(self, package: LoadedPackage, client: Client, pattern: str, values: dict[str, Any]) -> Any:
        method = package.methods[pattern]
        records = {"user": "User", "order": "Order"}
        given = values | {name: package.classes[cls] for name, cls in records.items()}
        arguments = {param.name: given[param.name] for param in method.params if param.name in given}
        for name in records.keys() & arguments.keys():
            arguments[name] = arguments[name](**values)
        return package.call(client, method, arguments)


def _plain(value: Any) -> Any:
    return value.value if hasattr(value, "value") else value


class Interleaved:
    """The worker's transport: the application acts between its requests, and sometimes kills the worker."""

    concurrent = False

    def __init__(self, application: Application, kill: float) -> None:
        self._application = application
        self._kill = kill

    def send(self, operation: str, body: bytes) -> bytes:
        chance = self._application.random
        if chance.random() < self._kill:
            raise Killed
        self._application.act()
        answer = self._application.engine.send(operation, body)
        if chance.random() < self._kill:
            raise Killed  # the request was applied, and the worker does not know it
        return answer

    def close(self) -> None:
        pass
