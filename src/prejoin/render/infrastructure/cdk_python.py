"""CDK in Python: a construct with the table of a design and a managed policy for each role."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from prejoin.design.model import Design
from prejoin.render.python.layout import string
from prejoin.workload.model import Workload

from .cdk import Do, Make, Name, Own, Props, Step, class_name, core_names, modules, steps, tagged_members
from .layout import Lines, laid_out
from .options import Infrastructure
from .stack import NOTICE, Stack, split_words, stack_of

_WIDTH = 88
_STEP = "    "


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
    head = f"{_STEP}def __init__({', '.join(parameters)}) -> None:"
    if len(head) > _WIDTH:
        inner = f"{_STEP * 2}{', '.join(parameters)}"
        lines = [inner] if len(inner) <= _WIDTH else [f"{_STEP * 2}{parameter}," for parameter in parameters]
        head = "\n".join((f"{_STEP}def __init__(", *lines, f"{_STEP}) -> None:"))
    about = "The table, and a managed policy for each role that uses it." if stack.every_policy else "The table."
    body = [f"{_STEP * 2}{line}" if line else line for step in steps(stack) for line in _step(step)]
    tags = [
        f"{_STEP * 2}Tags.of(self.{member}).add({string(k)}, {string(v)})"
        for member in tagged_members(stack)
        for k, v in sorted(stack.options.tags.items())
    ]
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
            f'{_STEP}"""{about}"""',
            "",
            head,
            f"{_STEP * 2}super().__init__(scope, construct_id)",
            *body,
            *tags,
            "",
        )
    )


def _step(step: Step) -> Lines:
    room = _WIDTH - len(_STEP * 2)
    if isinstance(step, Make):
        parts = [["self"], [string(step.id)], *_keyword_arguments(step.props, room - len(_STEP))]
        return laid_out(f"self.{step.member} = {step.type}(", parts, ")", room, _STEP)
    return _call_lines(step, room)


def _call_lines(step: Do, room: int) -> Lines:
    parts = [
        *([string(argument)] for argument in step.arguments),
        *_keyword_arguments(step.props.values, room - len(_STEP)),
    ]
    call = laid_out(f"self.{step.member}.{step.method}(", parts, ")", room, _STEP)
    if not step.then_props:
        return call
    continuation = _keyword_arguments(step.then_props.values, room - len(_STEP))
    last = laid_out(f"{call[-1]}.{step.then}(", continuation, ")", room, _STEP)
    if len(call) == 1 and len(last) == 1:
        return last
    opened_call = laid_out(f"self.{step.member}.{step.method}(", parts, ")", 0, _STEP)
    return [*opened_call[:-1], *laid_out(f"{opened_call[-1]}.{step.then}(", continuation, ")", room, _STEP)]


def _keyword_arguments(values: Mapping[str, Any], room: int) -> list[Lines]:
    return [_value(value, room, f"{name}=") for name, value in values.items()]


def _value(value: Any, room: int, lead: str = "") -> Lines:
    """A named value and a comma, in the width that is left."""
    inner, space = room - len(_STEP), room - 1
    match value:
        case Name():
            return [f"{lead}{value.text}"]
        case Own():
            path = f"str(self.{value.path})" if value.value else f"self.{value.path}"
            middle = f"/{{{value.middle}}}" if value.middle else ""
            return [f"{lead}f{string(f'{{{path}}}{middle}{value.suffix}')}" if value.suffix else f"{lead}{path}"]
        case Props():
            return laid_out(f"{lead}{value.type}(", _keyword_arguments(value.values, inner), ")", space, _STEP)
        case bool() | int():
            return [f"{lead}{value}"]
        case str():
            return [f"{lead}{string(value)}"]
        case Mapping():
            pairs = [_value(member, inner, f"{string(name)}: ") for name, member in value.items()]
            return laid_out(f"{lead}{{", pairs, "}", space, _STEP)
        case _:
            return laid_out(f"{lead}[", [_value(element, inner) for element in value], "]", space, _STEP)


def _escape_docstring(text: str) -> str:
    """Text inside a docstring."""
    return text.replace("\\", "\\\\").replace('"""', "'''")
