"""How messages count and list."""

from __future__ import annotations

import pytest

from kueue_dqo.api.wording import LONGEST_MESSAGE, counted, message_of, some


@pytest.mark.parametrize(("count", "text"), [(0, "0 queues"), (1, "1 queue"), (2, "2 queues")])
def test_only_one_is_singular(count: int, text: str) -> None:
    """None is plural too."""
    assert counted(count, "queue") == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, ""),
        (1, "1"),
        (5, "1, 2, 3, 4, 5"),
        (6, "1, 2, 3, 4, 5 and 1 more"),
        (100, "1, 2, 3, 4, 5 and 95 more"),
    ],
)
def test_a_long_list_ends_with_how_many_more_there_are(count: int, text: str) -> None:
    """Five are shown."""
    assert some(iter(range(1, count + 1))) == text


def test_the_length_of_a_list_can_be_chosen() -> None:
    """Where the names are long."""
    assert some("abc", at_most=2) == "a, b and 1 more"


@pytest.mark.parametrize("length", [0, 1, LONGEST_MESSAGE - 1, LONGEST_MESSAGE])
def test_a_message_that_the_api_server_takes_stays_as_it_is(length: int) -> None:
    """Up to the last character."""
    assert LONGEST_MESSAGE == 32_768
    assert message_of("x" * length) == "x" * length


@pytest.mark.parametrize("length", [LONGEST_MESSAGE + 1, 10 * LONGEST_MESSAGE])
def test_a_longer_message_is_cut_and_says_so(length: int) -> None:
    """It fills what is allowed, begins as before and ends with how long it was."""
    cut = message_of("a" + "x" * (length - 1))
    assert len(cut) == LONGEST_MESSAGE
    assert cut.startswith("axxxxx")
    assert cut.endswith(f"xxx … (cut; {length} characters)")
