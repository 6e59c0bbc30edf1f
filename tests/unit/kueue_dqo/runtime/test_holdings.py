"""Which news are new."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kueue_dqo.runtime.holdings import Change, Found, Holdings


def listed(version: str, **objects: tuple[str, str]) -> Holdings[str]:
    """Holdings after a list: name=(resourceVersion, object)."""
    holdings: Holdings[str] = Holdings()
    holdings.begin_list()
    take(holdings, version, **objects)
    return holdings


def take(holdings: Holdings[str], version: str, **objects: tuple[str, str]) -> list[Change[str]]:
    found = {name: Found[str](seen, new) for name, (seen, new) in objects.items()}
    return holdings.take_list(version, found, watch_from_it=True)


def test_a_list_reports_what_appeared_changed_and_went_away() -> None:
    holdings = listed("5", a=("1", "A"), b=("2", "B"), c=("3", "C"))
    holdings.begin_list()
    changes = take(holdings, "9", b=("2", "B"), c=("7", "C2"), d=("8", "D"))
    assert sorted(changes) == [("a", "A", None), ("b", "B", "B"), ("c", "C", "C2"), ("d", None, "D")]
    assert dict(holdings.objects) == {"b": "B", "c": "C2", "d": "D"}
    assert holdings.watched == "9"


def test_what_a_list_holds_in_the_same_version_is_not_decoded_nor_reported() -> None:
    holdings = listed("5", a=("1", "A"))
    assert holdings.is_held("a", "1")
    assert holdings.take_list("9", {"a": Found("1", None)}, watch_from_it=False) == []
    assert holdings.watched == "5"


def test_the_watch_does_not_bring_back_what_an_own_write_replaced() -> None:
    holdings = listed("5", a=("1", "A"))
    assert holdings.put("a", "9", "A9") == ("a", "A", "A9")
    assert holdings.put("a", "7", "A7") is None
    assert holdings.put("a", "9", "A9") is None
    assert holdings.objects["a"] == "A9"


def test_an_answer_that_is_older_than_a_deletion_does_not_bring_the_object_back() -> None:
    holdings = listed("5", a=("1", "A"))
    assert holdings.remove("a", "8") == ("a", "A", None)
    holdings.advance("8")
    assert holdings.put("a", "7", "A7") is None
    assert not holdings.objects
    assert holdings.put("a", "10", "A10") == ("a", None, "A10")  # made anew


def test_a_deletion_that_is_older_than_an_own_write_is_of_another_object() -> None:
    holdings = listed("5", a=("1", "A"))
    holdings.put("a", "9", "A9")
    assert holdings.remove("a", "7") is None
    assert holdings.objects["a"] == "A9"


def test_an_object_that_leaves_a_selector_goes_although_its_version_is_held() -> None:
    holdings = listed("5", a=("1", "A"))
    holdings.put("a", "9", "A9")
    assert holdings.remove("a", "9") == ("a", "A9", None)


def test_a_deletion_of_what_is_not_held_is_no_change() -> None:
    assert listed("5").remove("a", "7") is None


def test_a_list_does_not_undo_what_happened_while_it_was_on_its_way() -> None:
    holdings = listed("5", a=("1", "A"), b=("2", "B"), c=("3", "C"))
    holdings.begin_list()
    holdings.put("a", "11", "A11")
    holdings.remove("b", "12")
    holdings.put("d", "13", "D13")
    assert take(holdings, "10", a=("1", "A"), b=("2", "B"), c=("3", "C")) == [("c", "C", "C")]
    assert dict(holdings.objects) == {"a": "A11", "c": "C", "d": "D13"}


def test_a_list_contains_what_was_written_before_its_version() -> None:
    holdings = listed("5", a=("1", "A"))
    holdings.begin_list()
    holdings.put("a", "8", "A8")
    assert take(holdings, "10") == [("a", "A8", None)]  # deleted at 9


def test_a_watch_that_lags_behind_a_list_brings_nothing_back() -> None:
    holdings = listed("5", a=("1", "A"))
    holdings.begin_list()
    holdings.take_list("10", {}, watch_from_it=False)  # deleted at 9; the watch is at 5
    assert holdings.is_known("a", "7")
    assert holdings.put("a", "7", "A7") is None
    assert holdings.remove("a", "9") is None


def test_a_list_from_a_restored_storage_is_believed_although_its_versions_are_lower() -> None:
    holdings = listed("500", a=("400", "A"), b=("450", "B"))
    holdings.begin_list()
    assert sorted(take(holdings, "90", a=("80", "old A"))) == [("a", "A", "old A"), ("b", "B", None)]
    assert holdings.put("a", "91", "A91") == ("a", "old A", "A91")


def test_what_cannot_be_decoded_keeps_its_last_version() -> None:
    holdings = listed("5", a=("1", "A"))
    assert holdings.take_list("9", {"a": Found("8", None), "b": Found("7", None)}, watch_from_it=True) == []
    assert dict(holdings.objects) == {"a": "A"}


def test_versions_that_are_no_numbers_are_compared_for_equality_alone() -> None:
    holdings = listed("x", a=("p", "A"))
    assert holdings.is_known("a", "p")
    assert holdings.put("a", "q", "A2") == ("a", "A", "A2")


def test_when_the_resource_is_gone_everything_goes() -> None:
    holdings = listed("5", a=("1", "A"))
    assert holdings.clear() == [("a", "A", None)]
    assert not holdings.objects
    assert holdings.watched == ""
    assert holdings.put("a", "1", "A") == ("a", None, "A")


@settings(max_examples=300)
@given(st.data())
def test_whatever_overtakes_what_the_end_is_the_state_of_the_server(data: st.DataObject) -> None:
    """A history of writes to three objects; lists, own answers and the watch arrive in any order that is possible."""
    history = data.draw(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=12))
    states: list[dict[str, int]] = [{}]
    events: list[tuple[str, str, int]] = []
    for version, (name, deletes) in enumerate(history, start=1):
        state = dict(states[-1])
        if deletes and name in state:
            del state[name]
            events.append(("DELETED", name, version))
        else:
            state[name] = version
            events.append(("WRITTEN", name, version))
        states.append(state)

    def listing(version: int) -> dict[str, Found[int]]:
        return {name: Found(str(written), written) for name, written in states[version].items()}

    holdings: Holdings[int] = Holdings()
    holdings.begin_list()
    start = data.draw(st.integers(0, len(history)))
    holdings.take_list(str(start), listing(start), watch_from_it=True)
    position = start  # of the watch
    wrote = start  # what the server has reached at least
    while position < len(history):
        step = data.draw(st.sampled_from(["watch", "answer", "list"]))
        if step == "watch":
            kind, name, version = events[position]
            if kind == "DELETED":
                holdings.remove(name, str(version))
            else:
                holdings.put(name, str(version), version)
            holdings.advance(str(version))
            position += 1
            wrote = max(wrote, position)
        elif step == "answer":
            kind, name, version = data.draw(st.sampled_from(events))
            if kind == "WRITTEN":
                holdings.put(name, str(version), version)
                wrote = max(wrote, version)
        else:
            version = data.draw(st.integers(wrote, len(history)))
            holdings.begin_list()
            holdings.take_list(str(version), listing(version), watch_from_it=False)
            assert all(holdings.objects.get(name) == written for name, written in states[version].items())
            wrote = max(wrote, version)
    assert dict(holdings.objects) == states[-1]


def test_only_what_happens_while_a_list_is_on_its_way_is_noted() -> None:
    """Names come and go for ever; a note of each would be kept until the next list, which may never come."""
    holdings = listed("5")
    holdings.end_list()
    for number in range(100):
        holdings.take(f"name-{number}", str(10 + number), "x")
        holdings.remove(f"name-{number}", str(500 + number))
        holdings.remove(f"never-{number}", str(5_000 + number))
    assert holdings.size_of_notes == 0
    holdings.begin_list()
    holdings.take("a", "9000", "A")
    assert holdings.size_of_notes == 1
    assert holdings.take_list("8000", {}, watch_from_it=True) == []
    holdings.end_list()
    assert holdings.size_of_notes == 0


def test_a_version_that_is_longer_than_any_is_no_number() -> None:
    """Python would refuse to read it."""
    holdings = listed("9" * 5_000, a=("9" * 5_000, "A"))
    assert holdings.put("a", "9" * 5_000, "B") is None
    assert holdings.put("a", "8" * 5_000, "B") == ("a", "A", "B")
