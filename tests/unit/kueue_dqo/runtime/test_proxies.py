"""Which proxy the environment names."""

from __future__ import annotations

import pytest

from kueue_dqo.runtime.proxies import environment_proxy

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("server", "environment", "proxy"),
    [
        ("https://k.example", {}, None),
        ("https://k.example", {"HTTPS_PROXY": PROXY}, PROXY),
        ("https://k.example", {"https_proxy": PROXY}, PROXY),
        ("https://k.example", {"HTTP_PROXY": PROXY}, None),
        ("http://k.example", {"HTTP_PROXY": PROXY}, PROXY),
        ("https://k.example", {"HTTPS_PROXY": "proxy:3128"}, PROXY),
        ("https://localhost:6443", {"HTTPS_PROXY": PROXY}, None),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": PROXY}, None),
        ("https://[::1]:6443", {"HTTPS_PROXY": PROXY}, None),
    ],
)
def test_the_proxy_is_that_of_the_scheme(server: str, environment: dict[str, str], proxy: str | None) -> None:
    assert environment_proxy(server, environment) == proxy


@pytest.mark.parametrize(
    ("server", "no_proxy", "exempt"),
    [
        ("https://k.example", "*", True),
        ("https://k.example", "other, k.example", True),
        ("https://k.example", "K.EXAMPLE", True),
        ("https://a.k.example", "k.example", True),
        ("https://ak.example", "k.example", False),
        ("https://a.k.example", ".k.example", True),
        ("https://k.example", ".k.example", False),
        ("https://a.k.example", "*.k.example", True),
        ("https://k.example:6443", "k.example:6443", True),
        ("https://k.example:6443", "k.example:443", False),
        ("https://10.96.0.1", "10.0.0.0/8", True),
        ("https://10.96.0.1", "192.168.0.0/16,10.96.0.1", True),
        ("https://11.96.0.1", "10.0.0.0/8", False),
        ("https://10.96.0.1:6443", "10.96.0.1:6443", True),
        ("https://10.96.0.1:6443", "10.96.0.1:443", False),
        ("https://[fd00::1]:6443", "fd00::/8", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        ("https://k.example", "", False),
        ("https://k.example", " , ", False),
    ],
)
def test_no_proxy_is_read_as_kubectl_reads_it(server: str, no_proxy: str, exempt: bool) -> None:
    proxy = environment_proxy(server, {"HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy})
    assert proxy == (None if exempt else PROXY)
