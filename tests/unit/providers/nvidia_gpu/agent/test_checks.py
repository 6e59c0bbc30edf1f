"""Which signs count, by what the device plugin takes as well."""

from __future__ import annotations

import pytest

from providers.nvidia_gpu.agent.checks import IGNORED_XIDS, Checks


@pytest.mark.parametrize(
    ("disable", "enable", "counts", "ignored"),
    [
        ("", "", {48, 79, 1, 64}, IGNORED_XIDS | {63, 154}),
        ("", "63,154", {63, 154}, {13}),
        ("xids", "154", {154}, {63, 79}),
        ("", "all", {63, 154}, set()),
        ("79", "", {48}, {79, 13}),
        (" 79 , 48,", "", {1}, {79, 48, 13}),
        ("xids", "", set(), {48, 79, 13}),
        ("all", "", set(), {48, 79, 13}),
        ("ALL", "", set(), {48}),
        ("xids,48", "79", {79}, {48, 1}),
        ("all", "79,13", {79, 13}, {48, 31}),
        ("", "31", {31, 79}, {13, 43}),
        ("79", "79", {79}, {13}),
        ("79", "xids", {79, 13}, set()),
        ("all", "all", {79, 13}, set()),
    ],
)
def test_xids_count_as_the_options_say(disable: str, enable: str, counts: set[int], ignored: set[int]) -> None:
    checks = Checks.of(disable, enable)
    assert {number for number in counts | ignored if checks.xid(number)} == counts


@pytest.mark.parametrize(
    ("disable", "enable", "expected"),
    [
        ("", "", True),
        ("xids", "", True),
        ("79", "", True),
        ("all", "", False),
        ("all", "xids", False),
        ("all", "79", False),
        ("all", "all", True),
    ],
)
def test_only_all_concerns_what_is_polled(disable: str, enable: str, expected: bool) -> None:
    checks = Checks.of(disable, enable)
    assert (checks.recovery, checks.row_remap) == (expected, expected)


def test_hints_ask_for_a_reading_where_they_mark_nothing() -> None:
    """The recovery action has changed; a row is to be remapped. Both are read."""
    assert {number for number in range(200) if Checks().is_hint(number)} == {63, 154}
    assert {number for number in range(200) if Checks.of("xids", "63").is_hint(number)} == {154}


@pytest.mark.parametrize("text", ["48,nvlink", "-1", "4 8", "xid79", "1234567890", "٤٨"])
def test_anything_else_is_refused_with_the_option_and_the_value(text: str) -> None:
    bad = text.rsplit(",", maxsplit=1)[-1]
    with pytest.raises(ValueError, match=rf"^--disable-health-checks has '{bad}', .* write for instance 48,79$"):
        Checks.of(text, "")
    with pytest.raises(ValueError, match=r"^--enable-health-checks has "):
        Checks.of("", text)
