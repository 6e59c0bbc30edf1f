"""From paths to objects: which files are read, what is taken from them, and how everything that is wrong is told."""

from __future__ import annotations

import errno
import io
import json
import os
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.scheme import to_manifest
from kueue_dqo.cli import documents as documents_module
from kueue_dqo.cli import manifests as manifests_module
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.manifests import read_manifests
from kueue_dqo.cli.objects import Manifests, Place, skipped_text
from tests.unit.kueue_dqo.cli.bad_inputs import NO_OBJECTS, UNREADABLE, BadInput
from tests.unit.kueue_dqo.cli.objects import (
    LIMIT,
    QUEUES,
    QUOTA_FIELD,
    as_json,
    cohort,
    listed,
    node,
    provider,
    queue,
    read,
)

CAREFUL, QUICK = "careful", "quick"
NOBODY = 65534


def _names(manifests: Manifests, kind: str = "ClusterQueue") -> list[str]:
    return list(manifests.of_kind(kind))


def _write(path: Path, *objects: object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_json(*objects))
    return str(path)


def _read(*paths: str | Path, limit: Quantity = LIMIT) -> Manifests:
    return read_manifests(tuple(map(str, paths)), limit)


def _problem(*paths: str | Path, limit: Quantity = LIMIT) -> str:
    with pytest.raises(CommandError) as caught:
        _read(*paths, limit=limit)
    return str(caught.value)


def _problem_of(data: bytes) -> str:
    with pytest.raises(CommandError) as caught:
        read(data)
    return str(caught.value)


# --- files and folders ---------------------------------------------------------------------------------------------


def test_a_folder_is_read_with_all_below_it_in_the_order_of_names(tmp_path: Path) -> None:
    """The order decides which of two objects of one name is called the first, so it is always the same."""
    for number, name in enumerate(("b.yaml", "a/z.yml", "a/b/c.json", "c/a.yaml", "a.yaml", "B.yaml")):
        _write(tmp_path / name, queue(f"q{number}"))
    found = _read(tmp_path)
    assert [place.file.removeprefix(f"{tmp_path}/") for place in found.places.values()] == [
        *("B.yaml", "a.yaml", "a/b/c.json", "a/z.yml", "b.yaml", "c/a.yaml")
    ]


@pytest.mark.parametrize(
    "name",
    [
        ".hidden.yaml",
        ".git/a.yaml",
        "sub/.cache/deep/a.yaml",
        "notes.txt",
        "yaml",
        "a.yaml~",
        "a.yaml.bak",
        "a.json5",
        "README",
    ],
)
def test_hidden_and_other_files_of_a_folder_are_passed_over(name: str, tmp_path: Path) -> None:
    """Even where they are broken."""
    _write(tmp_path / "a.yaml", queue("a"))
    hidden = tmp_path / name
    hidden.parent.mkdir(parents=True, exist_ok=True)
    hidden.write_text("{{ broken")
    assert _names(_read(tmp_path)) == ["a"]


@pytest.mark.parametrize("name", [".hidden.yaml", "notes.txt", "manifest", ".folder"])
def test_what_is_named_is_read_whatever_its_name(name: str, tmp_path: Path) -> None:
    """Endings and dots matter only inside folders."""
    path = tmp_path / name
    _write(path / "a.yaml" if name == ".folder" else path, queue("a"))
    assert _names(_read(path)) == ["a"]


def test_files_are_read_in_the_order_in_which_they_are_named(tmp_path: Path) -> None:
    """A folder among them is read at its place."""
    paths = [
        _write(tmp_path / "z.yaml", queue("z")),
        str(tmp_path / "folder"),
        _write(tmp_path / "a.yaml", queue("a")),
    ]
    _write(tmp_path / "folder/m.yaml", queue("m"))
    assert _names(_read(*paths)) == ["z", "m", "a"]


def test_a_linked_file_is_read(tmp_path: Path) -> None:
    """A mounted ConfigMap consists of links into a hidden folder."""
    _write(tmp_path / "mount/..2026_01_31/queues.yaml", queue("a"))
    (tmp_path / "mount/..data").symlink_to("..2026_01_31")
    (tmp_path / "mount/queues.yaml").symlink_to("..data/queues.yaml")
    assert _names(_read(tmp_path / "mount")) == ["a"]


def test_a_linked_folder_is_read_where_it_is_named_and_passed_over_inside_another(tmp_path: Path) -> None:
    """Following it inside could lead anywhere, and in circles."""
    _write(tmp_path / "elsewhere/b.yaml", queue("b"))
    _write(tmp_path / "folder/a.yaml", queue("a"))
    (tmp_path / "folder/link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "folder/up").symlink_to(tmp_path)
    assert _names(_read(tmp_path / "folder/link")) == ["b"]
    assert _names(_read(tmp_path / "folder")) == ["a"]


@pytest.mark.parametrize("named", ["loop.yaml", "."])
def test_a_link_to_itself_is_a_file_that_cannot_be_read(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named, or met in a folder; what else is wrong is told with it."""
    monkeypatch.chdir(tmp_path)
    Path("loop.yaml").symlink_to("loop.yaml")
    Path("wrong.yaml").write_text("[")
    message = _problem(named, "wrong.yaml")
    assert "loop.yaml cannot be read: " in message
    assert "wrong.yaml is no YAML" in message


@pytest.mark.parametrize("named", ["gone.yaml", "."])
def test_a_link_to_nowhere_is_a_file_that_cannot_be_read(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not passed over: its objects would be missing."""
    monkeypatch.chdir(tmp_path)
    Path("gone.yaml").symlink_to("nowhere")
    assert _problem(named) == "gone.yaml cannot be read: No such file or directory"


def test_the_same_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named twice, by another path, through its folder or through a link."""
    file = _write(tmp_path / "folder/a.yaml", queue("a"))
    (tmp_path / "link.yaml").symlink_to(file)
    (tmp_path / "folder-link").symlink_to("folder")
    monkeypatch.chdir(tmp_path)
    ways = [file, file, "folder/a.yaml", "./folder/../folder/a.yaml", "link.yaml", "folder", "folder-link", "."]
    assert _names(_read(*ways)) == ["a"]
    assert [place.file for place in _read(*ways).places.values()] == [file]


def test_a_copy_is_another_file(tmp_path: Path) -> None:
    """Its objects stand twice."""
    for name in ("a.yaml", "copy.yaml"):
        _write(tmp_path / name, queue("a"))
    assert "ClusterQueue/a stands twice" in _problem(tmp_path)


def test_a_folder_without_manifests_is_refused(tmp_path: Path) -> None:
    """Most likely another one was meant; what was looked for is said."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "notes.txt").write_text("none here")
    message = _problem(tmp_path)
    assert message == f"{tmp_path} holds no file that ends in .yaml, .yml, .json"


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    """All of them are, and what is wrong in the other files as well."""
    (tmp_path / "wrong.yaml").write_text("[")
    lines = _problem(tmp_path / "one.yaml", tmp_path / "wrong.yaml", tmp_path / "folder/two").splitlines()
    assert lines[0] == "3 problems in the manifests:"
    assert lines[1] == f"  {tmp_path}/one.yaml cannot be read: No such file or directory"
    assert lines[2].startswith(f"  {tmp_path}/wrong.yaml is no YAML (line 2, column 1): ")
    assert lines[3:] == [f"  {tmp_path}/folder/two cannot be read: No such file or directory"]


@pytest.fixture
def no_privileges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder of the test as somebody without root's right to read everything."""
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    yield
    os.seteuid(user)


def test_a_file_that_may_not_be_read_is_named(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The other files are looked at all the same."""
    _write(tmp_path / "closed.yaml", queue("a"))
    (tmp_path / "closed.yaml").chmod(0)
    (tmp_path / "wrong.yaml").write_text("[")
    request.getfixturevalue("no_privileges")
    message = _problem("closed.yaml", "wrong.yaml")
    assert "closed.yaml cannot be read: Permission denied" in message
    assert "wrong.yaml is no YAML" in message


@pytest.mark.parametrize("named", ["closed", "."])
def test_a_folder_that_may_not_be_read_is_named(named: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A part that is missing unnoticed would make the plan a wrong one."""
    _write(tmp_path / "a.yaml", queue("a"))
    _write(tmp_path / "closed/b.yaml", queue("b"))
    (tmp_path / "closed").chmod(0)
    request.getfixturevalue("no_privileges")
    message = _problem(named)
    assert "closed cannot be read: Permission denied" in message


def test_a_failing_disk_is_an_error_of_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system's words are passed on."""
    good, bad = _write(tmp_path / "good.yaml", queue("a")), _write(tmp_path / "bad.yaml", queue("b"))
    original = os.fstat

    def failing(descriptor: int) -> os.stat_result:
        if os.path.samestat(original(descriptor), Path(bad).stat()):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return original(descriptor)

    monkeypatch.setattr(os, "fstat", failing)
    assert _problem(good, bad) == f"{bad} cannot be read: {os.strerror(errno.EIO)}"


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    """`-f <(helm template .)` hands one over; it has no size and comes in pieces."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with pipe.open("wb") as writer:
            for part in (as_json(queue("a")), b" " * 100_000, as_json(queue("b"))):
                writer.write(part)
                writer.flush()

    thread = threading.Thread(target=write)
    thread.start()
    found = _read(pipe)
    thread.join()
    assert _names(found) == ["a", "b"]


@pytest.mark.parametrize("content", ["", "\n", "# only a comment\n---\n---\n"])
def test_a_named_file_without_a_document_is_an_error(content: str, tmp_path: Path) -> None:
    """What was to write it has failed; the plan of the others would be a wrong one."""
    good = _write(tmp_path / "good.yaml", queue("a"))
    empty = tmp_path / "empty.yaml"
    empty.write_text(content)
    assert _problem(good, empty) == f"{empty} holds no document"


def test_nothing_on_standard_input_or_in_the_empty_device_is_an_error() -> None:
    """`kubectl … | dqo plan -f -`, where kubectl has failed."""
    assert _problem_of(b"") == "standard input holds no document"
    assert _problem("/dev/null") == "/dev/null holds no document"


def test_an_empty_file_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    """Nobody has named it, and repositories contain files in which all is commented out."""
    _write(tmp_path / "good.yaml", queue("a"))
    (tmp_path / "empty.yaml").write_text("# nothing yet\n")
    assert _names(_read(tmp_path)) == ["a"]


def test_a_file_may_have_the_name_of_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path with a folder in it is a file."""
    monkeypatch.chdir(tmp_path)
    _write(Path("./-"), queue("a"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(as_json(queue("b")))))
    assert _names(_read("-", "./-")) == ["b", "a"]


def test_standard_input_is_read_once_beside_files(tmp_path: Path) -> None:
    """However often it is named, and under a name that a person understands."""
    file = _write(tmp_path / "a.yaml", queue("a"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", (tmp_path / "in").open("w+"))
        (tmp_path / "in").write_bytes(as_json(queue("b")))
        found = _read("-", file, "-")
        sys.stdin.close()
    assert [str(place) for place in found.places.values()] == ["standard input, document 1", f"{file}, document 1"]


# --- sizes ---------------------------------------------------------------------------------------------------------

SIZED = as_json(queue("a"))


@pytest.mark.parametrize("way", ["file", "standard input", "pipe"])
@pytest.mark.parametrize("above", [-1, 0, 1, 100])
def test_a_file_may_have_the_limit_and_not_a_byte_more(above: int, way: str, tmp_path: Path) -> None:
    """However it is read, the message names the limit and the option that raises it."""
    limit = Quantity.of(2048)
    data = SIZED + b"\n" * (2048 + above - len(SIZED))
    assert len(data) == 2048 + above
    if above <= 0:
        assert _names(_sized(way, data, limit, tmp_path)) == ["a"]
        return
    with pytest.raises(CommandError) as caught:
        _sized(way, data, limit, tmp_path)
    message = str(caught.value)
    assert "the limit of 2048: raise --max-file-size" in message
    if way == "file":
        assert f"{tmp_path}/sized.yaml has {2048 + above} bytes" in message


def _sized(way: str, data: bytes, limit: Quantity, tmp_path: Path) -> Manifests:
    if way == "standard input":
        return read(data, limit)
    path = tmp_path / "sized.yaml"
    if way == "file":
        path.write_bytes(data)
        return _read(path, limit=limit)
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: path.write_bytes(data))
    thread.start()
    try:
        return _read(path, limit=limit)
    finally:
        thread.join()


def test_the_limit_is_of_each_file_and_all_that_are_above_it_are_named(tmp_path: Path) -> None:
    """Together the files may have more."""
    limit = Quantity.of("1Ki")
    names = "abcdef"
    files = [_write(tmp_path / f"{name}.yaml", queue(name)) for name in names]
    assert sum(Path(file).stat().st_size for file in files) > 1024
    assert _names(_read(*files, limit=limit)) == list(names)
    for file in (files[1], files[3]):
        with Path(file).open("ab") as more:
            more.write(b"\n" * 1024)
    message = _problem(*files, limit=limit)
    assert [line.partition(" has ")[0].strip() for line in message.splitlines()[1:]] == [files[1], files[3]]
    assert "the limit of 1Ki" in message


def test_a_device_without_end_is_refused() -> None:
    """Not more than the limit is read of it."""
    message = _problem("/dev/zero", limit=Quantity.of("64Ki"))
    assert message == "/dev/zero is larger than the limit of 64Ki: raise --max-file-size"


@pytest.mark.parametrize("limit", ["1Ei", "8Ei", "16Ei", "1e30"])
@pytest.mark.parametrize("way", ["file", "standard input"])
def test_a_limit_may_be_larger_than_the_memory(way: str, limit: str, tmp_path: Path) -> None:
    """It is a limit and no request for memory: a small file is read under it."""
    assert _names(_sized(way, SIZED, Quantity.of(limit), tmp_path)) == ["a"]


# --- lists ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(listed(node("n"), queue("a"), node("m")), id="of all kinds"),
        pytest.param(listed(listed(node("n")), listed(listed(queue("a")), listed()), listed(node("m"))), id="of Lists"),
        pytest.param(
            listed(listed({"metadata": {"name": "n"}}, node("m"), kind="NodeList"), queue("a")), id="of a typed list"
        ),
    ],
)
def test_the_items_of_a_list_are_objects_of_their_own(document: object) -> None:
    """`kubectl get -o yaml` prints a List, `kubectl get --raw` a typed list whose items do not name their kind."""
    found = read(as_json(document))
    assert sorted(found.of_kind("Node")) == ["m", "n"]
    assert _names(found) == ["a"]


def test_items_of_a_typed_list_have_its_kind() -> None:
    """Where they name none themselves, or name nothing."""
    items = [{"metadata": {"name": "a"}}, queue("b"), {"apiVersion": None, "kind": "", "metadata": {"name": "c"}}]
    found = read(as_json(listed(*items, api_version=QUEUES, kind="ClusterQueueList")))
    assert _names(found) == ["a", "b", "c"]


def test_items_of_a_plain_list_have_to_name_their_kind() -> None:
    """There is none to fall back to."""
    assert "document 1, item 2: is no Kubernetes object" in _problem_of(as_json(listed(queue("a"), {"metadata": {}})))


def test_a_place_is_a_file_a_document_its_line_and_an_item(tmp_path: Path) -> None:
    """As far as each of them is known."""
    path = tmp_path / "all.yaml"
    item = "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: %s}}"
    path.write_text(
        f"# title\n---\n{item % 'a'}\n---\n\napiVersion: v1\nkind: List\nitems:\n- {item % 'b'}\n- {item % 'c'}\n"
    )
    assert {key.name: str(place) for key, place in _read(path).places.items()} == {
        "a": f"{path}, document 1 (line 3)",
        "b": f"{path}, document 2 (line 6), item 1",
        "c": f"{path}, document 2 (line 6), item 2",
    }
    assert str(Place("f", 3)) == "f, document 3"
    assert str(Place("f", 3, item=2)) == "f, document 3, item 2"


# --- kinds ---------------------------------------------------------------------------------------------------------


def test_other_kinds_are_skipped_counted_and_said() -> None:
    """By kind and version; a kind of the same name in another group is another kind."""
    service = {"apiVersion": "v1", "kind": "Service"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    foreign = {"apiVersion": "example.com/v1", "kind": "ClusterQueue", "spec": 3}
    found = read(
        as_json(service, listed(job, queue("a"), service), foreign, listed({"metadata": {}}, kind="ServiceList"))
    )
    assert _names(found) == ["a"]
    assert found.skipped == {"Service (v1)": 3, "Job (batch/v1)": 1, "ClusterQueue (example.com/v1)": 1}
    assert skipped_text(found.skipped) == (
        "5 objects of kinds that dqo does not read: 1 ClusterQueue (example.com/v1), 1 Job (batch/v1), 3 Service (v1)"
    )


def test_pods_of_one_name_in_two_namespaces_are_two() -> None:
    """All other kinds that are read have no namespace; of one that is written all the same, nothing is made."""
    pods = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": namespace}} for namespace in "ab"
    ]
    found = read(as_json(*pods, queue("a") | {"metadata": {"name": "a", "namespace": "x"}}))
    assert set(found.of_kind("Pod")) == {"a/p", "b/p"}
    assert _names(found) == ["a"]
    with pytest.raises(CommandError, match="Pod/a/p stands twice"):
        read(as_json(*pods, pods[0]))


@pytest.mark.parametrize("strict_bytes", [1 << 30, 0], ids=[CAREFUL, QUICK])
def test_a_kind_whose_name_ends_in_list_is_no_list(strict_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without items it is an object like others."""
    monkeypatch.setattr(documents_module, "STRICT_JSON_BYTES", strict_bytes)
    allow_list = {"apiVersion": "example.com/v1", "kind": "AllowList", "metadata": {"name": "l"}, "spec": {"items": 3}}
    found = read(as_json(listed(queue("a"), allow_list)))
    assert (_names(found), found.skipped) == (["a"], {"AllowList (example.com/v1)": 1})


def test_where_nothing_is_left_the_message_says_what_was_skipped(tmp_path: Path) -> None:
    """And where it was looked for."""
    one = _write(tmp_path / "a.yaml", {"apiVersion": "v1", "kind": "Service"})
    two = _write(tmp_path / "b.yaml", listed())
    assert _problem(one, two) == (
        f"no object that dqo reads in {one}, {two}; skipped 1 object of kinds that dqo does not read: 1 Service (v1)"
    )
    assert _problem(two) == f"no object that dqo reads in {two}"


@pytest.mark.parametrize("version", ["v1beta3", "v1", "v1alpha1", ""])
def test_a_known_kind_in_an_unknown_version_is_refused(version: str) -> None:
    """Skipped, it would be missing in the plan; the versions that are read are named."""
    api_version = f"kueue.x-k8s.io/{version}"
    message = _problem_of(as_json(queue("a") | {"apiVersion": api_version}))
    assert message == (
        f"standard input, document 1: ClusterQueue/a: apiVersion: {api_version!r} of ClusterQueue is not read; "
        "kueue.x-k8s.io/v1beta2 or kueue.x-k8s.io/v1beta1 is"
    )


def test_an_object_of_the_core_group_in_an_unknown_version_is_refused() -> None:
    """The core group has no name to show."""
    assert "'v2' of Node is not read; v1 is" in _problem_of(as_json(node("n") | {"apiVersion": "v2"}))


@pytest.mark.parametrize("bad", NO_OBJECTS, ids=lambda bad: bad.what)
def test_what_is_no_object_that_can_be_used_is_refused_with_its_place(bad: BadInput, tmp_path: Path) -> None:
    """With place, object, field and value, as far as there are any."""
    path = tmp_path / bad.name
    path.write_bytes(bad.content)
    message = _problem(path)
    assert message.startswith(f"{path}, document 1")
    assert [word for word in bad.says if word not in message] == [], message


@pytest.mark.parametrize("bad", UNREADABLE, ids=lambda bad: bad.what)
def test_a_file_that_cannot_be_read_is_named_with_the_cause(bad: BadInput, tmp_path: Path) -> None:
    """On the line that begins with the file."""
    path = tmp_path / bad.name
    path.write_bytes(bad.content)
    message = _problem(path)
    assert any(
        line.strip().startswith(f"{path} ") and all(word in line for word in bad.says) for line in message.splitlines()
    ), message


@pytest.mark.parametrize("levels", [100, 300, 450, 500, 600, 700, 800, 900, 940, 1000, 3000])
@pytest.mark.parametrize("way", [CAREFUL, QUICK])
@pytest.mark.parametrize("where", ["an unused field", "beside a null", "items of Lists", "a label"])
def test_nesting_is_read_or_refused_however_deep(
    where: str, way: str, levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between what any part can take and what the first part refuses, too."""
    monkeypatch.setattr(documents_module, "STRICT_JSON_BYTES", 0 if way == QUICK else 1 << 30)
    deep = b"[" * levels + b"]" * levels
    data = as_json(queue("a", unused="HERE")).replace(b'"HERE"', deep)
    if where == "beside a null":
        data = as_json(queue("a", unused="HERE", cohortName=None)).replace(b'"HERE"', deep)
    elif where == "a label":
        labels = {"metadata": {"name": "n", "labels": {"x": "HERE"}}}
        data = as_json(node("n") | labels).replace(b'"HERE"', deep)
    elif where == "items of Lists":
        data = as_json(listed("HERE")).strip().replace(b'"HERE"]}', b"") * levels + as_json(queue("a")) + b"]}" * levels
    outcome = _outcome(data)
    if isinstance(outcome, str):
        assert levels > 100 or where == "a label"
        assert "nested too deeply" in outcome or (where == "a label" and "metadata.labels" in outcome)


# --- problems ------------------------------------------------------------------------------------------------------


def test_two_objects_of_one_name_are_refused_and_both_places_named(tmp_path: Path) -> None:
    """In one file or in two, and a third one as well."""
    first = _write(tmp_path / "1.yaml", queue("a"), cohort("a"))
    second = _write(tmp_path / "2.yaml", listed(queue("b"), queue("a", 5)), queue("a"))
    assert _problem(tmp_path).splitlines() == [
        "2 problems in the manifests:",
        f"  {second}, document 1, item 2: ClusterQueue/a stands twice, first in {first}, document 1: keep one of them",
        f"  {second}, document 2: ClusterQueue/a stands twice, first in {first}, document 1: keep one of them",
    ]


def test_one_name_in_two_versions_is_one_object() -> None:
    """The API server keeps one of them."""
    older = queue("a") | {"apiVersion": "kueue.x-k8s.io/v1beta1"}
    assert "stands twice" in _problem_of(as_json(queue("a"), older))


def test_every_problem_of_a_file_is_told(tmp_path: Path) -> None:
    """Of every document, every item and every field, and of other files; the good objects change nothing."""
    bad = queue("Bad", -1)
    bad["spec"]["resourceGroups"][0]["coveredResources"] = ["cpu", "cpu"]
    one = _write(
        tmp_path / "1.yaml",
        queue("a", "1K"),
        listed(queue("fine"), queue("b", True), {"kind": "Node"}, 7),  # noqa: FBT003  # a quota that is no number
        bad,
        queue("c") | {"apiVersion": "kueue.x-k8s.io/v2"},
        provider("p", status="Maybe"),
    )
    with Path(one).open("ab") as file:
        file.write(b'{"a": 1, "a": 2}')
    Path(one).write_bytes(
        b"# YAML, so that all before the break is looked at\n---\n"
        + b"---\n".join(Path(one).read_bytes().splitlines(keepends=True))
    )
    _write(tmp_path / "2.yaml", queue("d", []))
    places = [line.removeprefix(f"  {tmp_path}/").partition(": ") for line in _problem(tmp_path).splitlines()[1:]]
    assert [(place, rest.partition(": ")[2].partition(": ")[0]) for place, _, rest in places] == [
        ("1.yaml, document 1 (line 3)", QUOTA_FIELD),
        ("1.yaml, document 2 (line 5), item 2", QUOTA_FIELD),
        ("1.yaml, document 2 (line 5), item 3", "apiVersion and kind have to be strings"),
        ("1.yaml, document 2 (line 5), item 4", ""),
        ("1.yaml, document 3 (line 7)", "metadata.name"),
        ("1.yaml, document 3 (line 7)", "spec.resourceGroups[0].coveredResources"),
        ("1.yaml, document 3 (line 7)", QUOTA_FIELD),
        ("1.yaml, document 4 (line 9)", "apiVersion"),
        ("1.yaml, document 5 (line 11)", "status.conditions[0].status"),
        ("1.yaml line 13", "keep one of them"),
        ("2.yaml, document 1", QUOTA_FIELD),
    ]


def test_problems_of_documents_before_a_broken_one_are_told_with_it() -> None:
    """In JSON as in YAML: one run shows all there is to mend."""
    broken = b'{"a": 1, "a": 2}'
    for separator in (b"", b"---\n"):
        message = _problem_of(separator + as_json(queue("a", "1K")) + separator + broken)
        assert "ClusterQueue/a" in message
        assert "duplicate key 'a'" in message


@pytest.mark.parametrize(
    ("count", "shown", "last"), [(2, 2, ""), (20, 20, ""), (21, 20, "and 1 more"), (50, 20, "and 30 more")]
)
def test_many_problems_are_counted_and_the_first_twenty_listed(count: int, shown: int, last: str) -> None:
    """In the order in which they stand."""
    lines = _problem_of(as_json(*(queue(f"q-{number}", -1) for number in range(count)))).splitlines()
    assert lines[0] == f"{count} problems in the manifests:"
    listed_lines = [line for line in lines[1:] if "ClusterQueue/q-" in line]
    assert [line.split("ClusterQueue/")[1].split(":")[0] for line in listed_lines] == [f"q-{n}" for n in range(shown)]
    assert lines[1 + shown :] == ([f"  {last}"] if last else [])


def test_a_single_problem_stands_alone() -> None:
    """Without a heading."""
    assert _problem_of(as_json(queue("a", -1))) == (
        f"standard input, document 1: ClusterQueue/a: {QUOTA_FIELD}: -1 is negative; 0 or more is allowed"
    )


def test_what_an_api_server_would_not_take_as_written_is_said_with_its_place() -> None:
    """A float is understood here, and refused there."""
    found = read(as_json(queue("a"), listed(queue("b", 1.5))))
    [notice] = found.notices
    assert notice.startswith(
        f'standard input, document 2, item 1: ClusterQueue/b: {QUOTA_FIELD}: 1.5 has to be quoted ("1.5")'
    )
    assert found.of_kind("ClusterQueue")["b"].spec.resource_groups[0].flavors[0].resources[
        0
    ].nominal_quota == Quantity.of("1.5")


def test_kinds_that_are_not_there_are_empty() -> None:
    """No special case for who asks."""
    assert dict(read(as_json(queue("a"))).of_kind("Cohort")) == {}


# --- big files -----------------------------------------------------------------------------------------------------


@pytest.fixture
def both_ways(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Reads data once carefully and once in the quick way of big files."""

    def outcomes(data: bytes) -> tuple[object, object]:
        found = []
        for size in (1 << 30, 0):
            monkeypatch.setattr(documents_module, "STRICT_JSON_BYTES", size)
            found.append(_outcome(data))
        return found[0], found[1]

    return outcomes


def _outcome(data: bytes) -> object:
    """Everything that reading gave, null fields as absent ones."""
    try:
        found = read(data)
    except CommandError as error:
        return str(error)
    objects = {(kind, name): to_manifest(obj) for kind, each in found.objects.items() for name, obj in each.items()}
    return objects, found.places, found.skipped


NULLS = queue("a")
NULLS["spec"] |= {"cohortName": None, "cohort": None, "admissionChecks": None, "unused": None}
NULLS["metadata"] |= {"generation": None, "annotations": None, "creationTimestamp": None}
NULLS["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["lendingLimit"] = None
NULLS["status"] = None
NULL_NODE = node("n") | {
    "spec": {"taints": None, "unschedulable": None},
    "status": {"allocatable": {"cpu": "4", "example.com/gone": None}, "conditions": None},
}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(as_json(queue("a")), id="one object"),
        pytest.param(as_json(listed(queue("a"), node("n"), provider("p"))), id="a List"),
        pytest.param(as_json(listed(node("n"), {"metadata": {"name": "m"}}, kind="NodeList")), id="a typed list"),
        pytest.param(as_json(listed(kind="NodeList")), id="an empty list"),
        pytest.param(as_json(listed(listed(queue("a")), node("n"))), id="a List in a List"),
        pytest.param(
            as_json(listed(listed({"metadata": {"name": "n"}}, kind="NodeList"))), id="a typed list in a List"
        ),
        pytest.param(as_json(listed(NULLS, NULL_NODE)), id="null fields"),
        pytest.param(as_json(NULL_NODE), id="null fields of a single object"),
        pytest.param(as_json(listed(queue("a"), {"apiVersion": "v1", "kind": "Service"})), id="other kinds"),
        pytest.param(as_json({"apiVersion": "v1", "kind": "Service"}), id="only another kind"),
        pytest.param(as_json(listed(queue("a"), queue("a"))), id="one name twice"),
        pytest.param(as_json(listed(queue("a") | {"apiVersion": "kueue.x-k8s.io/v9"})), id="an unknown version"),
        pytest.param(as_json(listed({"metadata": {"name": "a"}})), id="no kind"),
        pytest.param(as_json(listed({"apiVersion": "v1", "kind": 3})), id="a kind that is a number"),
        pytest.param(as_json(listed(queue("a", "1K"), queue("b", True), queue("c", -1), queue(3))), id="wrong fields"),  # noqa: FBT003  # a quota that is no number
        pytest.param(as_json(listed(queue("Bad"), node(""))), id="wrong names"),
        pytest.param(as_json(listed(queue("a") | {"metadata": None})), id="metadata of null"),
        pytest.param(as_json(listed(queue("a") | {"metadata": {}})), id="no name"),
        pytest.param(as_json(listed(queue("a", 2**63), queue("b", 2**64), queue("c", 10**30))), id="large integers"),
        pytest.param(as_json(listed(queue("a", 1.5))), id="a float"),
        pytest.param(as_json(listed(queue("a"))).replace(b'": 1', b'": 1E400'), id="a float beyond all floats"),
        pytest.param(
            as_json(listed(queue("a"))).replace(b'"name": "a"', b'"name": "a", "generation": 1E400'),
            id="such a generation",
        ),
        pytest.param(as_json(listed(queue("ab"))).replace(b"ab", b"\\u0061b"), id="an escaped name"),
        pytest.param(as_json(listed(queue("a"))).replace(b"ClusterQ", b"\\u0043lusterQ"), id="an escaped kind"),
        pytest.param(as_json(listed(queue("a"))).replace(b'"a"', b'"\xff"'), id="a name that is no UTF-8"),
        pytest.param(
            as_json(listed(queue("a"))).replace(b'"ClusterQueue"', b'"Cluster\xff"'), id="a kind that is no UTF-8"
        ),
        pytest.param(
            as_json(listed({"x": 1} | queue("a"))).replace(b"ClusterQ", b"\xff"), id="such a kind behind other fields"
        ),
        pytest.param(as_json(listed(queue("a"))).replace(b'"a"', b'"\\ud800"'), id="half of a surrogate pair"),
        pytest.param(
            json.dumps(
                listed({"spec": {}, "metadata": {"name": "a"}, "kind": "Cohort", "apiVersion": QUEUES}), indent=4
            ).encode(),
            id="fields in another order",
        ),
        pytest.param(json.dumps(listed(queue("a")), indent="\t").replace("\n", "\r\n").encode(), id="indented"),
        pytest.param(as_json(queue("a"), queue("b")), id="several documents"),
        pytest.param(as_json(listed(queue("a")))[:-4], id="truncated"),
        pytest.param(as_json(listed(queue("a"))).replace(b'"a"', b"NaN"), id="NaN"),
        pytest.param(as_json(listed(queue("a"))).replace(b'"a"', b'"\t"'), id="a tab in a string"),
        pytest.param(as_json({"apiVersion": "v1", "kind": "List", "items": None}), id="items of null"),
        pytest.param(as_json({"apiVersion": "v1", "kind": "List", "items": "none"}), id="items that are a text"),
        pytest.param(
            as_json({"apiVersion": None, "kind": "List", "items": [queue("a")]}), id="a List without a version"
        ),
        pytest.param(b"\xef\xbb\xbf" + as_json(listed(queue("a"))), id="a byte order mark"),
        pytest.param(as_json(listed(queue("a"))).decode().encode("utf-16"), id="UTF-16"),
        pytest.param(
            b'{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1"}', id="truncated in the items"
        ),
    ],
)
def test_a_big_file_gives_what_a_small_one_would(data: bytes, both_ways: Any) -> None:
    """The same objects, places, skipped kinds, or the same message: its size is no reason for another answer."""
    careful, quick = both_ways(data)
    assert quick == careful


def test_problems_of_a_big_file_name_place_object_field_and_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a small one do."""
    monkeypatch.setattr(documents_module, "STRICT_JSON_BYTES", 0)
    problems = _problem_of(as_json(listed(queue("a", "1K"), 3, queue("b", -2)))).splitlines()[1:]
    assert problems[0].startswith(
        f"  standard input, document 1, item 1: ClusterQueue/a: {QUOTA_FIELD}: '1K' is no quantity"
    )
    assert problems[1].startswith("  standard input, document 1, item 2: is ")
    assert "no Kubernetes object" in problems[1]
    assert problems[2].startswith(
        f"  standard input, document 1, item 3: ClusterQueue/b: {QUOTA_FIELD}: -2 is negative"
    )


def test_a_big_file_is_big_by_its_size(tmp_path: Path) -> None:
    """One byte above the size, duplicate keys are no longer looked for; that is how the quick way shows itself."""
    twice = as_json(queue("a")).strip().removesuffix(b"}") + b', "unused": 1, "unused": 2}'
    path = tmp_path / "dump.json"
    path.write_bytes(twice + b" " * (documents_module.STRICT_JSON_BYTES - len(twice)))
    assert "duplicate key 'unused'" in _problem(path)
    path.write_bytes(path.read_bytes() + b" ")
    assert _names(_read(path)) == ["a"]


@pytest.mark.parametrize(
    ("name", "content", "is_searched"),
    [
        pytest.param("dump.json", as_json(listed(queue("a"))), False, id="one JSON document"),
        pytest.param("dump", as_json(listed(queue("a"))), False, id="one without an ending"),
        pytest.param("dump.json", as_json(queue("a")), False, id="one JSON object"),
        pytest.param("dump.yaml", as_json(listed(queue("a"))), False, id="one by the name of YAML"),
        pytest.param("dump.json", as_json(queue("a"), queue("b")), True, id="several JSON documents"),
        pytest.param("dump.yaml", b"# dump\n" + as_json(listed(queue("a"))), True, id="YAML"),
        pytest.param("dump", b"# dump\n" + as_json(listed(queue("a"))), True, id="YAML without an ending"),
    ],
)
def test_a_note_says_where_duplicate_keys_were_not_looked_for(
    name: str, content: bytes, is_searched: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There and nowhere else."""
    for module in (documents_module, manifests_module):
        monkeypatch.setattr(module, "STRICT_JSON_BYTES", 0, raising=False)
    path = tmp_path / name
    path.write_bytes(content)
    notices = [notice for notice in _read(path).notices if "duplicate keys" in notice]
    assert bool(notices) == (not is_searched)
    assert all(notice.startswith(f"{path}: ") for notice in notices)
    path.write_bytes(content.replace(b'"kind"', b'"spec": {}, "kind"'))
    if is_searched:
        assert "duplicate key 'spec'" in _problem(path)
    else:
        assert _read(path).places


def test_a_folder_may_hold_another_kind_of_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket is an error of that file."""
    monkeypatch.chdir(tmp_path)
    _write(tmp_path / "a.yaml", queue("a"))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.yaml")
        assert stat.S_ISSOCK(Path("s.yaml").stat().st_mode)
        assert _problem(".").startswith("s.yaml cannot be read: ")
