"""What is not there yet when the orchestrator starts."""

from __future__ import annotations

from tests.controlplane.kueue import install_crds
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import start_orchestrator
from tests.integration.orchestrator.faults.teams import Teams


def test_definitions_are_installed_after_the_start(bare_plane: ControlPlane) -> None:
    """Until then it lives, is not ready, and says what it lacks; afterwards it needs nobody's help."""
    daemon = start_orchestrator(bare_plane, overlay="auto", wait=False)

    def says_what_it_lacks() -> bool:
        try:
            code, body = daemon.get("/readyz")
        except OSError:  # not listening yet
            return False
        return code == 503 and "the cluster has no clusterqueues" in body

    eventually(says_what_it_lacks, "it says what it lacks")
    install_crds(bare_plane, ours=False)
    eventually(lambda: "clusterqueues" not in daemon.get("/readyz")[1], "Kueue's definitions are seen")
    code, body = daemon.get("/readyz")
    assert (code, "dynamicquotaorchestrators" in body) == (503, True)
    assert daemon.get("/healthz")[0] == 200
    install_crds(bare_plane)
    teams = Teams(bare_plane)
    teams.follow(2, 2)
    assert daemon.get("/readyz")[0] == 200
    teams.check()
