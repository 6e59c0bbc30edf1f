"""Answers of AWS as they go over the wire, made from dicts by the SDK's own service models.

Whatever is answered is checked against the model first: a name that it does not have, a value of another type or
outside an enumeration raises WrongAnswer. Nothing here knows an operation by name.
"""

from __future__ import annotations

import datetime
import json
import secrets
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree as ET

import botocore.session
from botocore.model import ListShape, ServiceModel, Shape, StringShape, StructureShape

MODELS: Final = {"ec2": "ec2", "servicequotas": "service-quotas", "sts": "sts"}
"""The SDK's names of the services by those that permissions and signatures have."""
_SERVICE_QUOTAS: Final = "servicequotas"
_NUMBERS: Final = {"integer": int, "long": int, "double": int | float, "float": int | float}


class WrongAnswer(Exception):
    """A test has set up what the service could not answer. The message has the path of the field."""


class Refusal(Exception):
    """An error that a service answers with."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status = code, message, status


class Answer(NamedTuple):
    """What is sent."""

    status: int
    content_type: str
    body: bytes


@cache
def model(service: str) -> ServiceModel:
    """The SDK's description of a service."""
    return botocore.session.get_session().get_service_model(MODELS[service])


def answered(service: str, operation: str, output: Mapping[str, Any]) -> Answer:
    """The answer to an operation. Raises WrongAnswer."""
    shape = model(service).operation_model(operation).output_shape
    if shape is None:
        raise WrongAnswer(f"{operation} answers nothing")
    _check(shape, output, operation)
    if service == _SERVICE_QUOTAS:
        return Answer(200, "application/x-amz-json-1.1", json.dumps(_for_json(shape, output)).encode())
    root = ET.Element(f"{operation}Response", xmlns=model(service).metadata["xmlNamespace"])
    wrapper = shape.serialization.get("resultWrapper")
    if wrapper is None:
        ET.SubElement(root, "requestId").text = _request_id()
        _add_members(root, shape, output)
    else:
        _add_members(ET.SubElement(root, wrapper), shape, output)
        ET.SubElement(ET.SubElement(root, "ResponseMetadata"), "RequestId").text = _request_id()
    return Answer(200, "text/xml;charset=UTF-8", _document(root))


def refused(service: str, refusal: Refusal) -> Answer:
    """An error in the form of the service."""
    if service == _SERVICE_QUOTAS:
        modelled = {shape.name for shape in model(service).error_shapes}
        field = "Message" if refusal.code in modelled else "message"
        body = json.dumps({"__type": refusal.code, field: refusal.message})
        return Answer(refusal.status, "application/x-amz-json-1.1", body.encode())
    if service == "ec2":
        root = ET.Element("Response")
        error = ET.SubElement(ET.SubElement(root, "Errors"), "Error")
        request = ET.SubElement(root, "RequestID")
    else:
        root = ET.Element("ErrorResponse", xmlns=model(service).metadata["xmlNamespace"])
        error = ET.SubElement(root, "Error")
        ET.SubElement(error, "Type").text = "Sender"
        request = ET.SubElement(root, "RequestId")
    request.text = _request_id()
    ET.SubElement(error, "Code").text = refusal.code
    ET.SubElement(error, "Message").text = refusal.message
    return Answer(refusal.status, "text/xml;charset=UTF-8", _document(root))


# --- checks --------------------------------------------------------------------------------------------------------


def _check(shape: Shape, value: Any, path: str) -> None:
    if isinstance(shape, StructureShape):
        _expect(isinstance(value, Mapping), path, value, "structure")
        for name, each in value.items():
            if name not in shape.members:
                raise WrongAnswer(f"{path} has no field {name}; it has {', '.join(shape.members)}")
            _check(shape.members[name], each, f"{path}.{name}")
    elif isinstance(shape, ListShape):
        _expect(isinstance(value, list), path, value, "list")
        for index, each in enumerate(value):
            _check(shape.member, each, f"{path}[{index}]")
    elif isinstance(shape, StringShape):
        _expect(isinstance(value, str), path, value, "string")
        _expect(not shape.enum or value in shape.enum, path, value, f"one of {', '.join(shape.enum)}")
    elif shape.type_name == "boolean":
        _expect(isinstance(value, bool), path, value, "boolean")
    elif shape.type_name == "timestamp":
        known = isinstance(value, datetime.datetime) and value.tzinfo is not None
        _expect(known, path, value, "time with a zone")
    else:
        kind = _NUMBERS[shape.type_name]
        _expect(isinstance(value, kind) and not isinstance(value, bool), path, value, shape.type_name)


def _expect(holds: bool, path: str, value: Any, wanted: str) -> None:
    if not holds:
        raise WrongAnswer(f"{path} is {value!r}, and no {wanted}")


# --- forms ---------------------------------------------------------------------------------------------------------


def _for_json(shape: Shape, value: Any) -> Any:
    if isinstance(shape, StructureShape):
        members = ((name, shape.members[name], each) for name, each in value.items())
        return {member.serialization.get("name", name): _for_json(member, each) for name, member, each in members}
    if isinstance(shape, ListShape):
        return [_for_json(shape.member, each) for each in value]
    return value.timestamp() if isinstance(value, datetime.datetime) else value


def _add_members(parent: ET.Element, shape: StructureShape, value: Mapping[str, Any]) -> None:
    for name, each in value.items():
        member = shape.members[name]
        _add(parent, member.serialization.get("name", name), member, each)


def _add(parent: ET.Element, name: str, shape: Shape, value: Any) -> None:
    element = ET.SubElement(parent, name)
    if isinstance(shape, StructureShape):
        _add_members(element, shape, value)
    elif isinstance(shape, ListShape):
        for each in value:
            _add(element, shape.member.serialization.get("name", "member"), shape.member, each)
    elif isinstance(value, bool):
        element.text = "true" if value else "false"
    elif isinstance(value, datetime.datetime):
        in_utc = value.astimezone(datetime.UTC)
        element.text = in_utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    else:
        element.text = str(value)


def _document(root: ET.Element) -> bytes:
    return bytes(ET.tostring(root, encoding="UTF-8", xml_declaration=True))


def _request_id() -> str:
    return secrets.token_hex(16)
