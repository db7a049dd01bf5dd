"""The package that `prejoin build` would write, loaded for as long as a command needs it."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prejoin.design.model import Design
from prejoin.proof.package import LoadedPackage, load_package
from prejoin.render.python.method import Method, Param
from prejoin.render.python.package import Options
from prejoin.render.python.repository import OF_TENANT
from prejoin.table import Client
from prejoin.workload.model import Workload


@dataclass(frozen=True, slots=True)
class Code:
    """The generated package, loaded."""

    package: LoadedPackage
    tenant: Param | None = None

    def hints(self, method: Method) -> dict[str, Any]:
        """The types of a method's parameters, and of the tenant."""
        repository = self.package.repository
        tenant = getattr(repository, OF_TENANT, None)
        own = typing.get_type_hints(getattr(repository, method.name))
        return {**(typing.get_type_hints(tenant) if tenant else {}), **own}

    def call(self, client: Client, method: Method, arguments: Mapping[str, Any]) -> Any:
        """Calls a method of the repository, for the tenant among the arguments if the pattern belongs to one."""
        tenant = arguments.get(self.tenant.name) if self.tenant else None
        return self.package.call(client, self.package.methods[method.pattern.id], arguments, tenant)


def generated(workload: Workload, design: Design) -> Code:
    """The package as it would be generated."""
    package = load_package(workload, design, Options(asynchronous=False))
    return Code(package, package.rendered.tenant)
