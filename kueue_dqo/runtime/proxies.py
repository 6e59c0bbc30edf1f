"""Which proxy the environment names for a server. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit


def environment_proxy(server: str, environment: Mapping[str, str]) -> str | None:
    """The proxy of HTTPS_PROXY or HTTP_PROXY (upper or lower case), unless NO_PROXY names the server's host.

    NO_PROXY is read as Go programs read it, kubectl among them: host names with all below them, `.name` for those
    below alone, addresses, networks such as 10.0.0.0/8, each with a port or without, and `*` for all. The local host
    is never behind a proxy.
    """
    url = urlsplit(server)
    proxy = _variable(environment, f"{url.scheme}_proxy")
    if not proxy or _is_exempt(url.hostname or "", url.port, _variable(environment, "no_proxy")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name.upper(), "") or environment.get(name, "")


def _is_exempt(host: str, port: int | None, exemptions: str) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for exemption in exemptions.lower().split(","):
        entry = exemption.strip()
        if entry == "*":
            return True
        name, colon, digits = entry.rpartition(":")
        if colon and digits.isdigit() and _address(entry) is None:
            if int(digits) != port:
                continue
            entry = name
        if entry and _matches(host, address, entry.strip("[]")):
            return True
    return False


def _matches(host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None, entry: str) -> bool:
    if address is not None:
        try:
            return address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    below = entry.removeprefix("*")
    return host.endswith(below) if below.startswith(".") else host == below or host.endswith(f".{below}")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
