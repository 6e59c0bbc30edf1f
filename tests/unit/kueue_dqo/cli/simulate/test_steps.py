"""Files and folders, and the steps in time that they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from kueue_dqo.api.quantity import Quantity
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.simulate.steps import read_steps

LIMIT = Quantity.of("1Mi")


def _namespaces(*names: str) -> str:
    return "".join(f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n" for name in names)


def _written(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return str(folder)


def _read(*paths: str) -> list[tuple[str, list[str]]]:
    return [(step.name, [item.object.metadata.name for item in step.items]) for step in read_steps(paths, LIMIT)]


@pytest.mark.parametrize(
    ("files", "steps"),
    [
        pytest.param({"a.yaml": _namespaces("a", "b")}, [("", ["a", "b"])], id="one step"),
        pytest.param(
            {"02/b.yaml": _namespaces("b"), "01/a.yaml": _namespaces("a"), "10/c.yaml": _namespaces("c")},
            [("01", ["a"]), ("02", ["b"]), ("10", ["c"])],
            id="by number",
        ),
        pytest.param(
            {"2/b.yaml": _namespaces("b"), "10/c.yaml": _namespaces("c")}, [("2", ["b"]), ("10", ["c"])], id="no zeros"
        ),
        pytest.param(
            {"01/b.yaml": _namespaces("b"), "base/a.yaml": _namespaces("a"), "z.yaml": _namespaces("z"), "R.md": "x"},
            [("", ["a", "z"]), ("01", ["b"])],
            id="what is beside them comes first",
        ),
        pytest.param(
            {"01/b.yaml": _namespaces("b"), "01/a.yaml": _namespaces("a"), "01/02/c.yaml": _namespaces("c")},
            [("01", ["c", "a", "b"])],
            id="the order of files in a step",
        ),
    ],
)  # fmt: skip
def test_numbered_folders_are_steps(files: dict[str, str], steps: list[tuple[str, list[str]]], tmp_path: Path) -> None:
    """In the order of their numbers."""
    assert _read(_written(tmp_path, files)) == steps


def test_jobs_and_workloads_keep_the_order_of_the_file(tmp_path: Path) -> None:
    """Whatever their kinds: it is the order in which they come."""
    text = """
- {apiVersion: batch/v1, kind: Job, metadata: {name: b, namespace: x}}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: w, namespace: x}}
- {apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: x}}
"""
    listed = "apiVersion: v1\nkind: List\nitems:" + text
    assert _read(_written(tmp_path, {"l.yaml": listed})) == [("", ["b", "w", "a"])]


def test_a_second_path_joins_the_first_step(tmp_path: Path) -> None:
    """A what-if beside a folder of steps."""
    folder = _written(tmp_path / "steps", {"01/a.yaml": _namespaces("a")})
    more = _written(tmp_path / "more", {"m.yaml": _namespaces("m")})
    assert _read(folder, f"{more}/m.yaml") == [("", ["m"]), ("01", ["a"])]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        pytest.param({"1/a.yaml": _namespaces("a"), "01/b.yaml": _namespaces("b")}, "are one step", id="one number"),
        pytest.param({"01/a.yaml": _namespaces("a", "a")}, "Namespace/a stands twice", id="twice in a step"),
        pytest.param({"01/a.yaml": "kind: Job\napiVersion: batch/v2\nmetadata: {name: a}"},
                     "'batch/v2' of Job is not read", id="a version"),
        pytest.param({"01/a.txt": "x"}, "holds no file", id="nothing to read"),
        pytest.param({"01/a.yaml": "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}"}, "no object that dqo reads",
                     id="nothing that counts"),
    ],
)  # fmt: skip
def test_what_is_no_step_is_refused(files: dict[str, str], message: str, tmp_path: Path) -> None:
    """With its place."""
    with pytest.raises(CommandError, match=message):
        _read(_written(tmp_path, files))


def test_one_object_may_stand_in_several_steps(tmp_path: Path) -> None:
    """It changes in time."""
    files = {"01/a.yaml": _namespaces("a"), "02/a.yaml": _namespaces("a")}
    assert _read(_written(tmp_path, files)) == [("01", ["a"]), ("02", ["a"])]
