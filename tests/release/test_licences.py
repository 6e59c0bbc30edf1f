"""What is shipped is under licences that are allowed, and its texts are shipped with it."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from license_expression import get_spdx_licensing  # type: ignore[import-untyped] # has no types

from scripts.release import licences
from scripts.release.licence_terms import ALLOWED, EXCEPTIONS, JUDGED, SPELLINGS, TEXTS_ELSEWHERE
from scripts.release.licences import Licence, licence_of
from scripts.release.pins import IMAGE, pins
from scripts.release.shipped import with_extras
from scripts.release.tree import ReleaseError
from tests.e2e.process import ROOT


def _licence(expression: str, name: str = "thing", texts: tuple[str, ...] = ("LICENSE",)) -> Licence:
    return Licence(name, "1.0", expression, is_judged=False, texts=texts)


def _text_of(name: str) -> str:
    found = distribution(name)
    return "".join(Path(str(found.locate_file(path))).read_text() for path in licence_of(name).texts)


def test_everything_that_is_shipped_may_be() -> None:
    """What the image installs in the versions that it installs, and what the wheel's extras bring."""
    shipped = pins(IMAGE)
    found = {name: licence_of(name) for name in sorted(shipped.keys() | with_extras())}
    assert licences.problems(found.values()) == []
    assert {name: found[name].version for name in shipped} == {name: pin.version for name, pin in shipped.items()}


def test_the_table_lists_them_with_exceptions_and_judgements() -> None:
    """As `make licences` prints it."""
    command = [sys.executable, "-m", "scripts.release.licences"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    rows = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert rows.keys() == pins(IMAGE).keys() | with_extras()
    assert {name for name, row in rows.items() if "(exception: " in row} == EXCEPTIONS.keys()
    assert {name for name, row in rows.items() if "(judged: " in row} == JUDGED.keys()
    assert re.search(r"^rich +\S+ +extra +MIT$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("expression", "is_allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("Apache-2.0 AND (GPL-2.0-only OR BSD-3-Clause)", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("MPL-2.0", False),
    ],
)
def test_of_alternatives_one_has_to_be_allowed_and_of_a_sum_all(expression: str, is_allowed: bool) -> None:
    """As SPDX means them."""
    assert licences.is_allowed(_licence(expression)) is is_allowed


def test_an_exception_holds_for_its_distribution_and_its_licence() -> None:
    """Not for another of either."""
    for name, (licence, reason) in EXCEPTIONS.items():
        assert licences.is_allowed(_licence(licence, name))
        assert not licences.is_allowed(_licence("GPL-3.0-only", name))
        assert not licences.is_allowed(_licence(licence, "another"))
        assert reason


def test_what_stands_against_shipping_is_told() -> None:
    """With the way out; an exception that serves nothing is one that nobody would miss."""
    wrong = licences.problems([_licence("GPL-3.0-only"), _licence("MIT", "other", texts=())])
    assert wrong[0].startswith("thing 1.0 is under GPL-3.0-only, which is not allowed: ")
    assert wrong[1] == "other 1.0 brings no text of its licence"
    assert wrong[2:] == [
        *(f"the exception for {name} serves nothing: remove it" for name in sorted(EXCEPTIONS)),
        *(
            f"the judgement of {name} serves nothing: its metadata say something else, or it is gone"
            for name in sorted(JUDGED)
        ),
    ]


def test_metadata_that_say_nothing_clear_are_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody has to read the text."""
    monkeypatch.delitem(JUDGED, "pyasn1-modules")
    with pytest.raises(ReleaseError, match="states the licence 'BSD', which is no SPDX expression: read its text"):
        licence_of("pyasn1-modules")
    monkeypatch.setitem(JUDGED, "pyasn1-modules", JUDGED["nvidia-ml-py"]._replace(stated="something else"))
    with pytest.raises(ReleaseError, match="states the licence 'BSD'"):
        licence_of("pyasn1-modules")


def test_judgements_are_those_of_the_texts() -> None:
    """The clause that tells three from two, and the sentence that puts all of dateutil under one of its licences."""
    for name, judged in JUDGED.items():
        text = _text_of(name)
        assert "Redistributions in binary form must reproduce" in text
        assert ("Neither the name of" in text) == (judged.licence == "BSD-3-Clause"), name
    assert "BSD License Applies to all code, even that also covered by Apache" in _text_of("python-dateutil")


def test_the_lists_say_what_they_mean_in_spdx() -> None:
    """Each name is one that SPDX knows, and each file is there."""
    known = get_spdx_licensing()
    named = ALLOWED | {each.licence for each in EXCEPTIONS.values()} | {each.licence for each in JUDGED.values()}
    for name in named | set(SPELLINGS.values()):
        assert known.parse(name, validate=True).key == name
    for name, file in TEXTS_ELSEWHERE.items():
        assert file in licence_of(name).texts
        assert "Redistribution and use" in _text_of(name)
