"""JSON schemas of the port's commands and receipts, made from their types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from memfs.port.expected import Expected

Schema = dict[str, Any]

EXPECTED: Schema = {
    "anyOf": [
        {"const": "absent"},
        {
            "type": "object",
            "properties": {"sha256": {"type": "string"}, "version": {"type": "integer"}},
            "minProperties": 1,
            "maxProperties": 1,
        },
    ]
}
"""A precondition."""

_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    Expected: EXPECTED,
}


def input_schema(command: type, descriptions: Mapping[str, str], **more: Schema) -> Schema:
    """What a command takes, in wire names, and *more* that it may be given.

    *descriptions* say what each field is, by those names.
    """
    schema = _object(command)
    schema["properties"] |= more
    for name, field in schema["properties"].items():
        field["description"] = descriptions[name]
    return schema


def output_schema(*receipts: type) -> Schema:
    """What one of *receipts* looks like on the wire: every field there may be, and those always there."""
    # One object and no `oneOf`: several clients take nothing else at the root.
    schemas = [_object(receipt) for receipt in receipts]
    properties: Schema = {}
    for schema in schemas:
        for name, field in schema["properties"].items():
            known = properties.setdefault(name, field)
            if known != field:
                properties[name] = {"enum": [*known["enum"], *field["enum"]]}
    required = [name for name in properties if all(name in schema["required"] for schema in schemas)]
    return {"type": "object", "properties": properties, "required": required}


def wire_name(name: str) -> str:
    """A field's name on the wire: ``old_text`` is ``oldText``."""
    return re.sub("_(.)", lambda found: found[1].upper(), name)


def _object(kind: type) -> Schema:
    hints = {name: hint for name, hint in get_type_hints(kind).items() if _is_field(kind, name)}
    return {
        "type": "object",
        "properties": {wire_name(name): _schema(hint) for name, hint in hints.items()},
        "required": [wire_name(name) for name in hints if _is_required(kind, name)],
    }


def _schema(hint: Any) -> Schema:
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, UnionType):
        (present,) = (argument for argument in arguments if argument is not NoneType)
        return _schema(present)
    if origin is tuple and arguments[-1] is Ellipsis:
        return {"type": "array", "items": _schema(arguments[0])}
    if origin is tuple:
        (item,) = set(arguments)
        return {
            "type": "array",
            "items": _schema(item),
            "minItems": len(arguments),
            "maxItems": len(arguments),
        }
    return _object(hint)


def _is_field(kind: type, name: str) -> bool:
    return name in _names(kind)


def _names(kind: Any) -> Sequence[str]:
    return [field.name for field in fields(kind)] if is_dataclass(kind) else kind._fields


def _is_required(kind: Any, name: str) -> bool:
    """A receipt's fixed fields, such as its kind, are always there; a command's have their default."""
    if not is_dataclass(kind):
        return name not in kind._field_defaults
    (field,) = (field for field in fields(kind) if field.name == name)
    return field.default is MISSING or get_origin(get_type_hints(kind)[name]) is Literal
