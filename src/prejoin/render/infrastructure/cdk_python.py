"""CDK in Python: a construct with the table of a design and a managed policy for each role."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from prejoin.design.model import Design
from prejoin.render.python.layout import STEP, WIDTH, Part, call, flat, keyword, lay, listing, mapping, string
from prejoin.workload.model import Workload

from .cdk import Make, Name, Own, Props, Step, class_name, core_names, modules, steps, tagged_members
from .options import Infrastructure
from .stack import NOTICE, Stack, split_words, stack_of

_INDENT = STEP * 2
"""The indentation of the constructor's body."""


def render_cdk_python(
    workload: Workload, design: Design, options: Infrastructure | None = None
) -> Mapping[PurePosixPath, str]:
    """Renders a module with one construct, for a stack of yours."""
    stack = stack_of(workload, design, options or Infrastructure())
    return {PurePosixPath("cdk", f"{split_words(class_name(stack))}.py"): _module(stack)}


def _module(stack: Stack) -> str:
    imports = [f"from aws_cdk import aws_{name} as {name}" for name in modules(stack)]
    name = f"table_name: str = {string(stack.table.name)}"
    parameters = ("self", "scope: Construct", "construct_id: str", "*", name)
    head = f"{STEP}def __init__({', '.join(parameters)}) -> None:"
    if len(head) > WIDTH:
        inner = f"{_INDENT}{', '.join(parameters)}"
        lines = [inner] if len(inner) <= WIDTH else [f"{_INDENT}{parameter}," for parameter in parameters]
        head = "\n".join((f"{STEP}def __init__(", *lines, f"{STEP}) -> None:"))
    about = "The table, and a managed policy for each role that uses it." if stack.every_policy else "The table."
    body: list[str] = []
    for step in steps(stack):
        body += _step(step)
    for member in tagged_members(stack):
        for key, value in stack.tags.items():
            body.append(f"{_INDENT}Tags.of(self.{member}).add({string(key)}, {string(value)})")
    return "\n".join(
        (
            f'"""The table of {_escape_docstring(stack.title)}.',
            "",
            NOTICE,
            '"""',
            "",
            f"from aws_cdk import {', '.join(core_names(stack))}",
            *imports,
            "from constructs import Construct",
            "",
            "",
            f"class {class_name(stack)}(Construct):",
            f'{STEP}"""{about}"""',
            "",
            head,
            f"{_INDENT}super().__init__(scope, construct_id)",
            *body,
            "",
        )
    )


def _step(step: Step) -> list[str]:
    if isinstance(step, Make):
        make = call(f"self.{step.member} = {step.type}", "self", string(step.id), *_keywords(step.props))
        return lay(make, _INDENT)
    arguments = [*map(string, step.arguments), *_keywords(step.props.values)]
    first_call = call(f"self.{step.member}.{step.method}", *arguments)
    if not step.next_props:
        return lay(first_call, _INDENT)
    next_arguments = _keywords(step.next_props.values)
    one_line = lay(call(f"{flat(first_call)}.{step.next_method}", *next_arguments), _INDENT)
    if len(one_line) == 1:
        return one_line
    # Formatters break the first call of a chain first.
    lines = [f"{_INDENT}{first_call.head}"]
    for argument in arguments:
        lines += lay(argument, _INDENT + STEP, ",")
    return lines + lay(call(f").{step.next_method}", *next_arguments), _INDENT)


def _keywords(values: Mapping[str, Any]) -> list[Part]:
    return [keyword(name, _value(value)) for name, value in values.items()]


def _value(value: Any) -> Part:
    match value:
        case Name():
            return value.text
        case Own():
            return _own(value)
        case Props():
            return call(value.type, *_keywords(value.values))
        case bool() | int():
            return str(value)
        case str():
            return string(value)
        case Mapping():
            return mapping((string(name), _value(member)) for name, member in value.items())
        case _:
            return listing(map(_value, value))


def _own(member: Own) -> str:
    """A member of the construct, in an f-string if text follows it."""
    path = f"str(self.{member.path})" if member.value else f"self.{member.path}"
    if not member.suffix:
        return path
    middle = f"/{{{member.middle}}}" if member.middle else ""
    return f"f{string(f'{{{path}}}{middle}{member.suffix}')}"


def _escape_docstring(text: str) -> str:
    """Text inside a docstring."""
    return text.replace("\\", "\\\\").replace('"""', "'''")
