"""A floor of the plan: reads the file and decodes in one pass, with msgspec, no more of it than a plan needs.

One type fits every item, and quotas stay plain dicts and lists: nothing is understood or checked.
"""

import sys
from typing import Any

import msgspec


class Metadata(msgspec.Struct):
    name: str
    labels: dict[str, str] = {}


class Condition(msgspec.Struct):
    type: str
    status: str


class Status(msgspec.Struct):
    allocatable: dict[str, str] = {}
    conditions: list[Condition] = []


class Item(msgspec.Struct):
    kind: str
    metadata: Metadata
    spec: Any = None
    status: Status | None = None


class List(msgspec.Struct):
    items: list[Item]


with open(sys.argv[1], "rb") as file:  # noqa: PTH123  # importing pathlib would slow the floor down
    items = msgspec.json.decode(file.read(), type=List).items
print(len(items), sum(item.kind == "Node" for item in items))
