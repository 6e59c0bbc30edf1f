"""Addresses of servers and proxies that the HTTP library can use; it would only say so at the first request. Pure.

Nothing here shows an address: it may hold a secret by mistake.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from aiohttp import BasicAuth
from yarl import URL

_HOST: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?")


def server_fault(server: str) -> str:
    """What is wrong with a server's address, to follow the words "the server"; empty where nothing is."""
    try:
        parts = urlsplit(server)
        port = parts.port
        has_host = is_host(parts.hostname or "x")
    except ValueError:
        return "is no address"
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return "does not begin with http:// or https:// and a host"
    if port == 0 or parts.username is not None or "?" in server or "#" in server:
        return "has to be scheme, host, port and path alone: credentials belong under users"
    if not has_host or not parts.path.isascii() or not server.isprintable() or " " in server:
        return "is no address"
    return ""


def is_proxy(address: str) -> bool:
    try:
        parts = urlsplit(address)
        has_parts = parts.scheme in {"http", "https"} and parts.port != 0 and is_host(parts.hostname or "")
        BasicAuth.from_url(URL(address))
    except ValueError:  # a user name that no header can hold is one as well
        return False
    return has_parts and address.isprintable() and address.isascii() and " " not in address


def is_host(name: str) -> bool:
    """Whether it is an IP address or a name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        pass
    else:
        return True
    try:
        return _HOST.fullmatch(name.encode("idna").decode()) is not None
    except UnicodeError:
        return False
