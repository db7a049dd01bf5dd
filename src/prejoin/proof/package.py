"""The generated package of a design, loaded in memory: the code that a proof runs.

Nothing is written to disk, and nothing stays in `sys.modules` when the schema of the package is no longer used.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import count
from types import ModuleType
from typing import Any

from msgspec.structs import replace

from prejoin.design.model import Design
from prejoin.keys import TemplateError
from prejoin.patterns.large.stores import MemoryStore, ObjectStore
from prejoin.render.python.method import Method
from prejoin.render.python.package import Options, RenderedPackage, render_package
from prejoin.render.python.repository import OF_TENANT
from prejoin.table.client.async_client import AsyncClient
from prejoin.table.client.client import Client
from prejoin.table.errors import SchemaError
from prejoin.table.schema.schema import Schema
from prejoin.workload.model import Workload
from prejoin.workload.tenants import is_scoped

_numbers = count(1)


class LoadedPackage:
    """The entities, the schema and the repositories of a generated package."""

    def __init__(self, rendered_package: RenderedPackage, workload: Workload) -> None:
        self.rendered = rendered_package
        self._workload = workload
        self.store = MemoryStore()
        # The modules are those of production; only the store of contents is one in memory.
        modules = _load(rendered_package, self.store)
        title = rendered_package.names.title
        self.schema: Schema = modules["schema"].SCHEMA
        """Where contents are in a store, it is `store`."""
        self._schema_with: Callable[[ObjectStore], Schema] | None = getattr(modules["schema"], "schema", None)
        self.repository: type[Any] = getattr(modules["repository"], f"{title}Repository")
        self.async_repository: type[Any] | None = None
        if "async_repository" in modules:
            self.async_repository = getattr(modules["async_repository"], f"Async{title}Repository")
        entities = modules["entities"]
        self.classes: Mapping[str, type[Any]] = {
            entity: getattr(entities, cls) for entity, cls in rendered_package.names.classes.items()
        }
        """The class of each entity."""
        self._entities = {cls: entity for entity, cls in self.classes.items()}
        self._entities |= {getattr(entities, view.name): view.entity for view in rendered_package.views}

    def schema_with(self, store: ObjectStore) -> Schema:
        """The schema with another store."""
        assert self._schema_with is not None  # no contents are in a store
        return self._schema_with(store)

    @property
    def methods(self) -> Mapping[str, Method]:
        """The methods of the repositories as data, by pattern."""
        return self.rendered.methods

    @property
    def fields(self) -> Mapping[str, Mapping[str, str]]:
        """The field of each attribute, by entity and attribute."""
        return self.rendered.names.fields

    def call(
        self, client: Client | AsyncClient, method: Method, arguments: Mapping[str, Any], tenant: Any = None
    ) -> Any:
        """Calls a method; for the given tenant, if the pattern belongs to one. An async client gives a coroutine."""
        cls = self.async_repository if isinstance(client, AsyncClient) else self.repository
        assert cls is not None  # rendered without an async repository
        repository = cls(client)
        if is_scoped(self._workload, method.pattern):
            repository = getattr(repository, OF_TENANT)(tenant)
        # As an application calls it: what has a default by its name.
        positional = [arguments[param.name] for param in method.params if not param.default]
        options = {p.name: arguments[p.name] for p in method.params if p.default and p.name in arguments}
        return getattr(repository, method.name)(*positional, **options)

    def record(self, entity: str, values: Mapping[str, Any]) -> Any:
        """An object of an entity's class, from values by the document's names."""
        return self.classes[entity](**self.named(entity, values))

    def named(self, entity: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values by the names of their fields."""
        fields = self.fields[entity]
        return {fields[name]: value for name, value in values.items()}

    def values(self, record: Any) -> tuple[str, dict[str, Any]]:
        """The entity of an object and its values by the document's names; what is None is left out."""
        entity = self._entities[type(record)]
        values = {name: getattr(record, field, None) for name, field in self.fields[entity].items()}
        return entity, {name: value for name, value in values.items() if value is not None}

    def holds(self, record: Any) -> frozenset[str]:
        """The attributes that the class of an object has: all of its entity, or those of a view."""
        fields = self.fields[self._entities[type(record)]]
        return frozenset(name for name, field in fields.items() if hasattr(record, field))


def load_package(
    workload: Workload,
    design: Design,
    options: Options | None = None,
    clock: Callable[[], datetime] | None = None,
) -> LoadedPackage:
    """Renders the package of a design and loads it. With a clock, items expire by that."""
    package = LoadedPackage(render_package(workload, design, options), workload)
    if clock is not None:
        for entity in package.schema.entities:
            for pattern in entity.patterns:
                if hasattr(pattern, "clock"):
                    # A generated schema has no parameter for the clock, and bound patterns are frozen.
                    object.__setattr__(pattern, "clock", clock)
    return package


def refused_schema(workload: Workload, design: Design) -> str:
    """Why the client refuses the schema of a design; empty if it accepts it. The patterns do not matter."""
    entities = replace(workload, reads=(), writes=(), deletes=())
    try:
        load_package(entities, replace(design, operations=()), Options(asynchronous=False))
    except (SchemaError, TemplateError) as error:
        return str(error)
    return ""


def _load(rendered_package: RenderedPackage, store: ObjectStore) -> dict[str, ModuleType]:
    """Loads the modules. `entities` stays in `sys.modules` while the schema, which resolves type hints, is used."""
    package = f"_prejoin_generated_{next(_numbers)}"
    names = {module: f"{package}.{module}" for module in rendered_package.modules}
    sys.modules[package] = ModuleType(package)
    sys.modules[package].__path__ = []
    try:
        for module, source in rendered_package.modules.items():
            sys.modules[names[module]] = module_object = ModuleType(names[module])
            module_object.__package__ = package
            exec(compile(source, f"<{names[module]}>", "exec", dont_inherit=True), vars(module_object))  # noqa: S102 - ours
        modules = {module: sys.modules[name] for module, name in names.items()}
        if rendered_package.stores:
            vars(modules["schema"])["SCHEMA"] = modules["schema"].schema(store)
        weakref.finalize(modules["schema"].SCHEMA, sys.modules.pop, names.pop("entities"), None)
    finally:
        for name in (package, *names.values()):
            sys.modules.pop(name, None)
    return modules
