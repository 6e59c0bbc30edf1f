"""How the daemon starts: what it waits for, and what ends it with one clear message."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import pytest

from tests.controlplane.kueue import install_crds
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK, eventually, free_port
from tests.integration.daemons import DQO, start_orchestrator
from tests.integration.objects import wait_for_condition, wait_for_quotas
from tests.integration.orchestrator.roads_and_rivals.scenes import answers, capacity, two_teams


def test_it_waits_for_definitions_and_says_which_are_missing(bare_plane: ControlPlane) -> None:
    """It is alive meanwhile, and ready without a restart once they are there."""
    daemon = start_orchestrator(bare_plane, wait=False)
    missing = ("clusterqueues", "cohorts", "capacityproviders", "dynamicquotaorchestrators", "admissionchecks")

    def names_all() -> bool:
        code, text = answers(daemon, "/readyz")
        return code == 503 and all(f"no {name}" in text for name in missing)

    eventually(names_all, "readiness names what is missing")
    assert daemon.get("/healthz") == (200, "ok")
    lines = daemon.get("/readyz")[1].splitlines()
    assert len(lines) == len(missing)
    for line in lines:
        assert "kueue.x-k8s.io" in line
    install_crds(bare_plane)
    two_teams(bare_plane)
    capacity(bare_plane, 48)
    wait_for_quotas(bare_plane, team_a=16, team_b=32)
    wait_for_condition(bare_plane, "True", "QuotasDistributed")
    assert daemon.get("/readyz") == (200, "ok")


WRONG = [
    pytest.param(["--enforcement=maybe"], "'maybe' is not one of", id="enforcement"),
    pytest.param(["--listen=8080"], "'8080' is no address: write HOST:PORT", id="address"),
    pytest.param(["--listen=127.0.0.1:99999"], "'127.0.0.1:99999' is no address", id="port"),
    pytest.param(["--concurrency=0"], "--concurrency", id="concurrency"),
    pytest.param(["--renew-deadline=15"], "each longer than the one before", id="lease times"),
    pytest.param(["--write-qps=-1"], "--write-qps", id="qps"),
    *(
        pytest.param([f"--{flag}={value}"], f"'--{flag}'", id=f"{flag} {value}")
        for flag in ("write-qps", "lease-duration", "renew-deadline", "retry-period", "grace")
        for value in ("nan", "inf", "1e-320")
    ),
    pytest.param(["--write-burst=" + "9" * 400], "--write-burst", id="burst"),
    pytest.param(["--renew-deadline=14.5"], "too close to --lease-duration", id="margin"),
    pytest.param(["--no-such-flag"], "No such option", id="unknown"),
    pytest.param(["--kubeconfig=/no/such/file"], "/no/such/file", id="kubeconfig"),
    pytest.param(["--kubeconfig=/"], "kubeconfig /: there is no such file", id="folder"),
    pytest.param(["--kubeconfig=/no/such/file", "--log-format=console"], "/no/such/file", id="for people"),
]


@pytest.mark.parametrize(("flags", "said"), WRONG)
def test_what_cannot_start_says_why_in_one_line(flags: list[str], said: str) -> None:
    """Exit code 1, and no traceback."""
    done = _run(*flags)
    assert done.returncode == 1
    assert _error(done).count(said) == 1


def test_a_kubeconfig_that_is_none_is_named(tmp_path: Path) -> None:
    """Not shown: there may be secrets in it."""
    file = tmp_path / "config"
    file.write_text("users: [{name: me, user: {token: hush-hush}}\n")
    done = _run(f"--kubeconfig={file}")
    assert done.returncode == 1
    assert str(file) in _error(done)
    assert "hush-hush" not in done.stderr + done.stdout


def test_a_context_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Together with the file."""
    done = _run(f"--kubeconfig={_kubeconfig(tmp_path)}", "--context=elsewhere")
    assert done.returncode == 1
    assert "elsewhere" in _error(done)


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    """No API server is needed to find that out."""
    with socket.socket() as other:
        other.bind((LOOPBACK, 0))
        other.listen()
        address = f"{LOOPBACK}:{other.getsockname()[1]}"
        done = _run(f"--kubeconfig={_kubeconfig(tmp_path)}", f"--listen={address}")
    assert done.returncode == 1
    error = _error(done)
    assert str(address.rpartition(":")[2]) in error
    assert "address already in use" in error
    assert "--listen" in error


def _kubeconfig(folder: Path) -> Path:
    """For a server that is not there."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "users": [{"name": "me", "user": {"token": "hush-hush"}}],
        "clusters": [{"name": "here", "cluster": {"server": f"http://{LOOPBACK}:{free_port()}"}}],
    }
    file = folder / "kubeconfig"
    file.write_text(json.dumps(config))
    return file


def _run(*flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([DQO, "orchestrator", *flags], capture_output=True, text=True, check=False, timeout=60)


def _error(done: subprocess.CompletedProcess[str]) -> str:
    """The one error that was said. Raises AssertionError for more than that."""
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    return error
