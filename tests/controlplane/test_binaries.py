"""The programs of the control plane: looked for in order, built once, failures shown. Built here is a tiny program."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.controlplane import binaries, golang
from tests.controlplane.binaries import ETCD, KUBE_APISERVER, Program, find, folder_of

MAIN = 'package main\n\nfunc main() { println("%s") }\n'


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What was said; the cache is an empty folder."""
    monkeypatch.setenv(binaries.CACHE_VARIABLE, str(tmp_path / "cache"))
    return []


@pytest.fixture
def hello(tmp_path: Path) -> Program:
    module = tmp_path / "hello"
    module.mkdir()
    (module / "go.mod").write_text("module example.com/hello\n\ngo 1.22\n")
    (module / "main.go").write_text(MAIN % "hello")
    return Program("hello", module, "example.com/hello")


def test_a_program_is_built_once_and_then_found(hello: Program, lines: list[str]) -> None:
    """The build says what it does; the second time nothing is said, and nothing done."""
    path = find(hello, lines.append)
    assert subprocess.run([path], capture_output=True, text=True, check=True).stderr == "hello\n"
    assert lines[0].startswith("building hello of ")
    assert lines[0].endswith(" (1 of 1)")
    said, written = len(lines), path.stat().st_mtime_ns
    assert find(hello, lines.append) == path
    assert (len(lines), path.stat().st_mtime_ns) == (said, written)


def test_two_that_ask_at_once_share_one_build(hello: Program, lines: list[str]) -> None:
    """The second waits for the first, and finds what that has built."""
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: find(hello, lines.append), range(2))
    assert first == second
    assert len([line for line in lines if line.startswith("building")]) == 1


def test_a_failed_build_shows_what_go_says_and_leaves_nothing(hello: Program, lines: list[str]) -> None:
    """So the next one begins anew."""
    (hello.module / "main.go").write_text("package main\n\nfunc main() { undefinedFunction() }\n")
    with pytest.raises(golang.BuildFailed, match=r"(?s)go build .*undefined: undefinedFunction"):
        find(hello, lines.append)
    assert [*folder_of(hello.module).iterdir()] == []
    (hello.module / "main.go").write_text(MAIN % "mended")
    assert find(hello, lines.append).exists()


@pytest.mark.parametrize("name", ["go.mod", "go.sum"])
def test_other_requirements_are_another_folder_of_the_cache(name: str, hello: Program, lines: list[str]) -> None:
    """So a checkout of another version finds its own programs, and both stay."""
    before = folder_of(hello.module)
    with (hello.module / name).open("a") as file:
        file.write("// changed\n")
    assert folder_of(hello.module) != before
    assert lines == []


def test_the_folder_of_envtest_comes_first(
    hello: Program, lines: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For kube-apiserver and etcd, and for nothing else. One that is not there is an error, not a reason to build."""
    monkeypatch.setenv(binaries.ASSETS_VARIABLE, str(tmp_path))
    (tmp_path / "etcd").touch()
    assert find(ETCD, lines.append) == tmp_path / "etcd"
    with pytest.raises(binaries.MissingProgram, match=r"kube-apiserver: no such file.*unset KUBEBUILDER_ASSETS"):
        find(KUBE_APISERVER, lines.append)
    assert find(hello, lines.append).parent == folder_of(hello.module)


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own variable, then that of the desktop standard, then the home folder."""
    monkeypatch.setenv(binaries.CACHE_VARIABLE, "/one")
    monkeypatch.setenv("XDG_CACHE_HOME", "/two")
    assert binaries.cache() == Path("/one")
    monkeypatch.delenv(binaries.CACHE_VARIABLE)
    assert binaries.cache() == Path("/two/kueue-dqo/controlplane")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/three")
    assert binaries.cache() == Path("/three/.cache/kueue-dqo/controlplane")


def test_progress_names_the_versions_that_are_pinned() -> None:
    assert binaries.module_version(KUBE_APISERVER).startswith("k8s.io/kubernetes v1.37.")
    assert binaries.module_version(ETCD).startswith("go.etcd.io/etcd/server/v3 v3.7.")
    assert binaries.module_version(binaries.MINIMAL_KUEUE_018).startswith("sigs.k8s.io/kueue v0.18.")
