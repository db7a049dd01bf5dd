"""The package that `prejoin build` would write, imported for as long as a command needs it."""

from __future__ import annotations

import importlib
import inspect
import sys
import tempfile
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prejoin.design.model import Design
from prejoin.render.python.method import Method
from prejoin.render.python.names import Names, names_of
from prejoin.render.python.package import Options, package_name, render_python
from prejoin.render.python.repository import OF_TENANT
from prejoin.table import Client, Schema
from prejoin.workload.model import Workload

_PACKAGE = "prejoin_generated"


@dataclass(frozen=True, slots=True)
class Code:
    """The generated package, imported."""

    repository: type[Any]
    schema: Schema
    entities: Any
    names: Names

    def hints(self, method: Method) -> dict[str, Any]:
        """The types of what a method takes, and of the tenant."""
        tenant = getattr(self.repository, OF_TENANT, None)
        own = typing.get_type_hints(getattr(self.repository, method.name))
        return {**(typing.get_type_hints(tenant) if tenant else {}), **own}

    def call(self, client: Client, method: Method, arguments: Mapping[str, Any]) -> Any:
        """Calls a method of the repository, or of that of a tenant where the tenant is among the arguments."""
        own = inspect.signature(getattr(self.repository, method.name)).parameters
        repository = self.repository(client)
        if tenant := [value for name, value in arguments.items() if name not in own]:
            repository = getattr(repository, OF_TENANT)(*tenant)
        return getattr(repository, method.name)(**{name: v for name, v in arguments.items() if name in own})

    def record(self, entity: str, values: Mapping[str, Any]) -> Any:
        """An object of an entity, from values by the document's names."""
        fields = self.names.fields[entity]
        cls = getattr(self.entities, self.names.classes[entity])
        return cls(**{fields[name]: value for name, value in values.items()})


@contextmanager
def generated(workload: Workload, design: Design) -> Iterator[Code]:
    """The package as it would be generated, imported from a folder that is gone afterwards."""
    options = Options(_PACKAGE, asynchronous=False)
    files = render_python(workload, design, options)
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            place = Path(folder) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        sys.path.insert(0, folder)
        try:
            importlib.invalidate_caches()
            package = package_name(workload, options)
            module = importlib.import_module(f"{package}.repository")
            schema = importlib.import_module(f"{package}.schema").SCHEMA
            entities = importlib.import_module(f"{package}.entities")
            classes = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
            yield Code(classes[0], schema, entities, names_of(workload))
        finally:
            sys.path.remove(folder)
            for name in [name for name in sys.modules if name.split(".")[0] == _PACKAGE]:
                del sys.modules[name]
