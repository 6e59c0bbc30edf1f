"""A floor of the plan: reads the file and decodes all of it with msgspec, into dicts and lists."""

import sys

import msgspec

with open(sys.argv[1], "rb") as file:  # noqa: PTH123  # importing pathlib would slow the floor down
    items = msgspec.json.decode(file.read())["items"]
print(len(items), sum(item["kind"] == "Node" for item in items))
