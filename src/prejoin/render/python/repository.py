"""Renders `repository.py` and `async_repository.py`: a class with one method for each access pattern."""

from __future__ import annotations

from collections.abc import Container, Iterator

from prejoin.design.mapping.map_reads import plan_read
from prejoin.design.model import Operation, Request
from prejoin.keys import Refusal, Template, disjoint
from prejoin.keys.facet import KeyForm
from prejoin.render.python.context import RenderContext
from prejoin.render.python.layout import STEP, comment, docstring
from prejoin.render.python.method import InputValue, Method, Option, Param
from prejoin.render.python.reads.read_method import read_method
from prejoin.render.python.writes.write_method import write_method
from prejoin.workload.model import Pattern, Read, Verb, Workload
from prejoin.workload.tenants import is_owned, is_scoped

OF_TENANT = "of_tenant"
"""The method of a repository that gives the repository of one tenant."""


def repository_module(module: RenderContext, methods: dict[str, Method]) -> list[str]:
    """The lines of the module."""
    workload, names = module.workload, module.names
    client = "AsyncClient" if module.aio else "Client"
    module.imports.name("prejoin", client)
    name = f"{'Async' if module.aio else ''}{names.title}Repository"
    title = workload.title or "the application"
    tenant_note = "Patterns about items of a tenant are methods of `of_tenant(…)`." if workload.tenant else ""
    lines = [f"class {name}:", *docstring(f"Reads and writes the table of {title}.", tenant_note, indent=STEP), ""]
    lines += [f"{STEP}def __init__(self, db: {client}) -> None:", f"{STEP * 2}self.db = db"]
    lines += _of_tenant(module)
    for pattern in workload.patterns:
        method = methods.get(pattern.id)
        operation = module.design.operation(pattern.id)
        if method is not None and operation is not None:
            words = [*module.words(pattern, operation), *method.remarks, *_token_words(method)]
            words += _tenant_words(module, pattern, operation)
            lines += ["", *method.lines(words, module.aio)]
    reasons: list[str] = []
    for text in _missing_methods(workload, module):
        reasons += comment(text, STEP)
    if reasons:
        lines += ["", *reasons]
    once = ", awaited" if module.aio else ""
    head = docstring(f"The access patterns of {title}, one method each{once}.")
    return [*head, "", *module.imports.lines(), "", "", *lines]


def _of_tenant(module: RenderContext) -> list[str]:
    """The lines of `of_tenant`; none if the table has no tenants."""
    param = tenant_param(module)
    if param is None:
        return []
    module.imports.name("typing", "Self")
    words = docstring(f"The repository of one tenant. It fills in `{param.name}`.", indent=STEP * 2)
    head = f"{STEP}def {OF_TENANT}(self, {param}) -> Self:"
    return ["", head, *words, f"{STEP * 2}return type(self)(self.db.tenant({param.name}))"]


def tenant_param(module: RenderContext) -> Param | None:
    """The parameter of `of_tenant`; None if the table has no tenants."""
    workload = module.workload
    owner = next((entity for entity in workload.entities if is_owned(workload, entity.name)), None)
    attribute = owner.attribute(workload.tenant.attribute) if workload.tenant and owner else None
    if owner is None or attribute is None:
        return None
    type_ = module.type_of(owner.name, attribute)
    return Param(module.names.field(owner.name, attribute.name), type_, InputValue(attribute.name))


def _tenant_words(module: RenderContext, pattern: Pattern, operation: Operation) -> Iterator[str]:
    """The sentence about a pattern that is not for one tenant, and what it does on the repository of one."""
    workload = module.workload
    if workload.tenant is None or is_scoped(workload, pattern):
        return
    tenant = f"{{{workload.tenant.attribute}}}"
    partitions: list[str] = []
    for request in operation.requests:
        partitions += [action.pk for action in request.actions] or [request.pk]
    if partitions and all(tenant in partition for partition in partitions):
        yield f"It is not for one tenant. On `{OF_TENANT}(…)`, it accepts only that tenant."
    elif isinstance(pattern, Read) and all(_is_for_all_tenants(module, request) for request in operation.requests):
        yield f"It is not for one tenant. It works on `{OF_TENANT}(…)`, too."
    else:
        yield f"It is not for one tenant: call it on the repository itself, not on `{OF_TENANT}(…)`."


def _is_for_all_tenants(module: RenderContext, request: Request) -> bool:
    """Whether a tenant's client may send a read: of items without a tenant, apart from the records of tenants."""
    workload = module.workload
    tenant = workload.tenant.attribute if workload.tenant else ""
    tenant_entities = {entity.name for entity in workload.entities if entity.attribute(tenant)}
    if request.copies or request.counter or not tenant_entities.isdisjoint(request.entities):
        return False
    tenant_keys = _partitions(module, request.slot, tenant_entities)
    for own_key in _partitions(module, request.slot, request.entities):
        # The client of a tenant refuses keys that might be those of another tenant's items.
        if not isinstance(own_key, Template) or not all(disjoint(own_key, key) for key in tenant_keys):
            return False
    return True


def _partitions(module: RenderContext, slot: str, entities: Container[str]) -> list[KeyForm]:
    """The partition keys of entities in a slot."""
    return [facet.pk for facet in module.facets if facet.slot == slot and facet.entity in entities]


def _token_words(method: Method) -> Iterator[str]:
    """The paragraph about the token of a write that has one."""
    for param in method.params:
        if param.meaning == Option.TOKEN:
            yield f"Repeated with the same `{param.name}` within ten minutes, it is done once."


def methods_of(module: RenderContext) -> dict[str, Method]:
    """The methods of all patterns that the table serves, by the patterns' ids."""
    methods: dict[str, Method] = {}
    for pattern in module.workload.patterns:
        operation = module.design.operation(pattern.id)
        if operation is None or reason(module, pattern, operation):
            continue
        if isinstance(pattern, Read):
            methods[pattern.id] = read_method(module, pattern, operation)
        else:
            methods[pattern.id] = write_method(module, pattern, operation)
    return methods


def reason(module: RenderContext, pattern: Pattern, operation: Operation | None) -> str:
    """Why a pattern has no method; empty if it has one."""
    workload = module.workload
    if pattern.id in workload.out_of_scope:
        return "it is answered by something else than this table"
    if operation is None:
        return "it is not in the design"
    if operation.problem:
        return operation.problem
    if isinstance(pattern, Read):
        # A design that is read from a document may have operations that its keys do not serve.
        plan = plan_read(pattern, workload, module.facets)
        return str(plan) if isinstance(plan, Refusal) else ""
    if all(action.verb is Verb.EXPIRE for action in pattern.actions):
        return "DynamoDB does it by itself"
    return ""


def _missing_methods(workload: Workload, module: RenderContext) -> Iterator[str]:
    """The patterns without a method, with the reasons."""
    for pattern in workload.patterns:
        problem = reason(module, pattern, module.design.operation(pattern.id))
        if problem:
            yield f"{pattern.id}, {pattern.description or pattern.name or 'a pattern'}, is not here: {problem}."
