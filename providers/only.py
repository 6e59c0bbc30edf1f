"""What `--only` names and nobody has: a daemon that serves less than it was told to says so."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

import structlog

from providers.directory import Directory, Observer
from providers.status import Held

_log = structlog.get_logger(__name__)


class Named(Observer):
    """Logs which of the names are no CapacityProvider of the controller, and passes every change on.

    Each is told of once, and again when the reason is another one: objects may come later, and go.
    """

    def __init__(self, names: AbstractSet[str], directory: Directory, then: Observer) -> None:
        self._names: Final = names
        self._directory = directory
        self._then = then
        self._held: dict[str, Held] = {}
        self._is_listed = False
        self._told: dict[str, str] = {}
        """Why it is not served, as it was logged last."""

    def listed(self) -> None:
        """All CapacityProviders have been read once; until now a name that was not found meant nothing."""
        self._is_listed = True
        for name in sorted(self._names):
            self._tell(name)

    def provider_changed(self, name: str, old: Held | None, new: Held | None) -> None:
        """A CapacityProvider, of whatever controller, came, changed or went."""
        if name in self._names:
            if new is not None:
                self._held[name] = new
            else:
                self._held.pop(name, None)
            if self._is_listed:
                self._tell(name)
        self._then.provider_changed(name, old, new)

    def parameters_changed(self, name: str) -> None:
        """An object of the parameters kind came, changed or went."""
        self._then.parameters_changed(name)

    def flavors_changed(self) -> None:
        """Some ResourceFlavor did."""
        self._then.flavors_changed()

    def _tell(self, name: str) -> None:
        why = self._why_not(name)
        before = self._told.get(name)
        if why is None:
            if self._told.pop(name, None) is not None:
                _log.info("named by --only, and served from now on", provider=name)
        elif why != before:
            self._told[name] = why
            _log.warning("named by --only, but not served", provider=name, why=why)

    def _why_not(self, name: str) -> str | None:
        held = self._held.get(name)
        if held is None:
            return "there is no CapacityProvider of that name"
        if self._directory.is_of_controller(held.provider):
            return None
        ours, its = self._directory.controller.name, held.provider.spec.controller_name
        if its != ours:
            return f"its spec.controllerName is {its!r}, and this daemon serves {ours!r}"
        return "it has no spec.parameters, so its status is written by hand"
