"""The programs of the control plane and its tools: found, or built from the pinned modules below `tools/` and cached.

Looked for, in this order:

1. kube-apiserver and etcd in the folder `KUBEBUILDER_ASSETS`, the convention of controller-runtime's envtest;
2. the cache: `KUEUE_DQO_CONTROLPLANE_CACHE`, else `kueue-dqo/controlplane` below `XDG_CACHE_HOME` or `~/.cache`;
3. `go build`, into the cache. A first build of everything takes some twenty minutes on two cores.

What is cached has the hash of everything that makes it up in its folder's name: `go.mod`, `go.sum`, flags, platform.

Beside the servers there are Helm, for the charts, and promtool, for the alert rules.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.controlplane import golang

TOOLS: Final = Path(__file__).with_name("tools")
ASSETS_VARIABLE: Final = "KUBEBUILDER_ASSETS"
CACHE_VARIABLE: Final = "KUEUE_DQO_CONTROLPLANE_CACHE"

Say = Callable[[str], None]
"""Takes one line of progress."""


class Program(NamedTuple):
    """A program, and the Go module (a folder below `tools/`) that it is built in."""

    name: str
    module: Path
    package: str
    is_kubernetes: bool = False


ETCD: Final = Program("etcd", TOOLS / "kubernetes", "go.etcd.io/etcd/server/v3")
KUBE_APISERVER: Final = Program(
    "kube-apiserver", TOOLS / "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", is_kubernetes=True
)
KUBE_CONTROLLER_MANAGER: Final = Program(
    "kube-controller-manager", TOOLS / "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager", is_kubernetes=True
)
KUBE_SCHEDULER: Final = Program(
    "kube-scheduler", TOOLS / "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler", is_kubernetes=True
)
_KUEUE_MODULE: Final = "sigs.k8s.io/kueue"
_MINIMAL_KUEUE: Final = f"{_KUEUE_MODULE}/test/performance/scheduler/minimalkueue"
MINIMAL_KUEUE: Final = Program("minimalkueue", TOOLS / "kueue", _MINIMAL_KUEUE)
KUEUE: Final = Program("kueue", TOOLS / "kueue", f"{_KUEUE_MODULE}/cmd/kueue")
MINIMAL_KUEUE_018: Final = Program("minimalkueue", TOOLS / "kueue-0.18", _MINIMAL_KUEUE)
HELM: Final = Program("helm", TOOLS / "helm", "helm.sh/helm/v4/cmd/helm")
PROMTOOL: Final = Program("promtool", TOOLS / "prometheus", "github.com/prometheus/prometheus/cmd/promtool")
ALL: Final = (
    *(ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER),
    *(MINIMAL_KUEUE, KUEUE, MINIMAL_KUEUE_018),
    *(HELM, PROMTOOL),
)

_OPERATOR_MODULE: Final = "github.com/prometheus-operator/prometheus-operator"
_OPERATOR: Final = TOOLS / "prometheus-operator"
_TAGS: Final = {PROMTOOL.module: "builtinassets,remove_all_sd"}
"""Build tags, comma-separated. Rules are judged without the SDKs of all clouds that Prometheus finds targets in."""


class MissingProgram(Exception):
    """A program is not where the environment says that it is."""


def say_on_stderr(line: str) -> None:
    """Progress for a terminal."""
    sys.stderr.write(f"controlplane: {line}\n")
    sys.stderr.flush()


def find(program: Program, say: Say = say_on_stderr) -> Path:
    """The program's file. Builds it where it is missing. Raises MissingProgram, golang.BuildFailed."""
    if program in {ETCD, KUBE_APISERVER} and (assets := os.environ.get(ASSETS_VARIABLE)):
        path = Path(assets) / program.name
        if not path.is_file():
            raise MissingProgram(f"{path}: no such file; put {program.name} there, or unset {ASSETS_VARIABLE}")
        return path
    path = folder_of(program.module) / program.name
    if not path.exists():
        build([program], say)
    return path


def find_all(say: Say = say_on_stderr) -> None:
    """Makes sure that every program is there."""
    wanted = list(ALL)
    if ASSETS_VARIABLE in os.environ:
        for program in (ETCD, KUBE_APISERVER):
            find(program)
            wanted.remove(program)
    build(wanted, say)
    for module in (MINIMAL_KUEUE.module, MINIMAL_KUEUE_018.module):
        kueue_manifests(module, say)
    operator_crds(say)


def build(programs: list[Program], say: Say) -> None:
    """Builds those that the cache lacks. Another process that does the same is waited for."""
    if all((folder_of(program.module) / program.name).exists() for program in programs):
        return
    with locked(cache() / "lock", say):
        missing = [program for program in programs if not (folder_of(program.module) / program.name).exists()]
        if not missing:
            return
        go = golang.find(cache(), say)
        for number, program in enumerate(missing, 1):
            say(f"building {program.name} of {module_version(program)} ({number} of {len(missing)})")
            target = folder_of(program.module) / program.name
            with _in_one_step(target) as unfinished, _source(program, go, say) as (folder, package):
                golang.build(
                    go, folder, package, unfinished, say, ldflags=_ldflags(program), tags=_TAGS.get(program.module, "")
                )


def kueue_manifests(module: Path, say: Say = say_on_stderr) -> Path:
    """A folder with Kueue's own manifests, copied from its Go module: `crds/*.yaml` and `webhooks.yaml`."""
    target = folder_of(module) / "manifests"
    if not target.exists():
        with locked(cache() / "lock", say):
            if not target.exists():
                source = golang.module_folder(golang.find(cache(), say), module, _KUEUE_MODULE, say)
                with _in_one_step(target) as unfinished:
                    _copy_files(source / "config" / "components" / "crd" / "bases", unfinished / "crds")
                    webhooks = source / "config" / "components" / "webhook" / "manifests.yaml"
                    (unfinished / "webhooks.yaml").write_bytes(webhooks.read_bytes())
    return target


def operator_crds(say: Say = say_on_stderr) -> Path:
    """A folder with the CRDs of Prometheus Operator, `monitoring.coreos.com_*.yaml`, copied from its Go module."""
    target = folder_of(_OPERATOR) / "crds"
    if not target.exists():
        with locked(cache() / "lock", say):
            if not target.exists():
                source = golang.module_folder(golang.find(cache(), say), _OPERATOR, _OPERATOR_MODULE, say)
                with _in_one_step(target) as unfinished:
                    _copy_files(source / "example" / "prometheus-operator-crd", unfinished)
    return target


def cache() -> Path:
    """The folder that holds everything that was built."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kueue-dqo" / "controlplane"


def folder_of(module: Path) -> Path:
    """Where the programs of a module are cached."""
    made_of = hashlib.sha256()
    for part in (
        (module / "go.mod").read_bytes(),
        (module / "go.sum").read_bytes() if (module / "go.sum").exists() else b"",
        "\n".join([*golang.ENVIRONMENT, *golang.ENVIRONMENT.values(), *_LDFLAGS, *_METRICS_CERTIFICATES]).encode(),
        f"{platform.system()}/{platform.machine()}".encode(),
        *([_TAGS[module].encode()] if module in _TAGS else []),
    ):
        made_of.update(hashlib.sha256(part).digest())
    return cache() / f"{module.name}-{made_of.hexdigest()[:12]}"


def module_version(program: Program) -> str:
    """The module that a program comes from, with its version as pinned: `sigs.k8s.io/kueue v0.19.0`."""
    required = re.findall(r"^\s*(?:require )?(\S+) (v\S+)", (program.module / "go.mod").read_text(), re.MULTILINE)
    for path, version in required:
        if program.package.startswith(path):
            return f"{path} {version}"
    return str(program.module)


# Without symbols and debugging data. A server without a version is refused by the real Kueue.
_LDFLAGS: Final = (
    "-s",
    "-w",
    "-X k8s.io/component-base/version.gitVersion={version}",
    "-X k8s.io/component-base/version.gitMajor={major}",
    "-X k8s.io/component-base/version.gitMinor={minor}",
)


def _ldflags(program: Program) -> str:
    if not program.is_kubernetes:
        return " ".join(_LDFLAGS[:2])
    version = module_version(program).split()[-1]
    major, minor, _ = version.removeprefix("v").split(".", 2)
    return " ".join(_LDFLAGS).format(version=version, major=major, minor=minor)


# The real manager wants a certificate for its metrics in a folder below /etc, unless it manages its certificates
# itself, for which it must be in a cluster. So its main package is built from a copy that names another folder.
METRICS_CERTIFICATES: Final = "metrics-certificates"
_METRICS_CERTIFICATES: Final = ('"/etc/kueue/metrics/certs"', f'"{METRICS_CERTIFICATES}"')


@contextlib.contextmanager
def _source(program: Program, go: Path, say: Say) -> Iterator[tuple[Path, str]]:
    """The folder to build a program in, and its package."""
    if program != KUEUE:
        yield program.module, program.package
        return
    main = golang.module_folder(go, program.module, _KUEUE_MODULE, say) / program.package.removeprefix(
        f"{_KUEUE_MODULE}/"
    )
    before, after = _METRICS_CERTIFICATES
    with tempfile.TemporaryDirectory() as name:
        folder, replaced = Path(name), 0
        for file in (program.module / "go.mod", program.module / "go.sum", *main.glob("*.go")):
            text = file.read_text()
            replaced += text.count(before)
            if not file.name.endswith("_test.go"):
                (folder / file.name).write_text(text.replace(before, after))
        if replaced != 1:
            raise golang.BuildFailed(
                f"{main}: {before} stands there {replaced} times, and not once: look at what changed"
            )
        yield folder, "."


@contextlib.contextmanager
def locked(lock: Path, say: Say = say_on_stderr) -> Iterator[None]:
    """Nobody else has this file locked meanwhile; whoever has is waited for, and that is said."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another process is building; waiting for it ({lock})")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _in_one_step(target: Path) -> Iterator[Path]:
    """A path beside the target, moved onto it at the end; whoever looks sees all of it or nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        yield unfinished
        unfinished.rename(target)
    finally:
        if unfinished.is_dir():
            shutil.rmtree(unfinished)
        else:
            unfinished.unlink(missing_ok=True)


def _copy_files(source: Path, target: Path) -> None:
    # Files of a Go module are read-only, and stay so when they are copied with their modes.
    target.mkdir(parents=True)
    for file in source.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
