"""Checks and lists the licences of what the image installs and of what the wheel's extras bring.

    .venv/bin/python -m scripts.release.licences

They are read from the metadata of the distributions that are installed here, which are those of the pins. It exits with
1 where a licence is neither allowed nor an exception, where a text is missing, or where an exception serves nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Final, NamedTuple

from license_expression import AND, LicenseSymbol, get_spdx_licensing  # type: ignore[import-untyped] # has no types
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from scripts.release.licence_terms import ALLOWED, EXCEPTIONS, JUDGED, SPELLINGS, TEXTS_ELSEWHERE
from scripts.release.pins import IMAGE, pins
from scripts.release.shipped import with_extras
from scripts.release.tree import ReleaseError

_CLASSIFIER: Final = "License :: OSI Approved :: "
_TEXT: Final = re.compile(r"\.dist-info/(licenses/.*|LICEN[CS]E.*|COPYING.*)$")
_SPDX: Final = get_spdx_licensing()


class Licence(NamedTuple):
    """The terms of one distribution."""

    name: str
    version: str
    expression: str
    """SPDX."""
    is_judged: bool
    """By a person, where the metadata are not clear."""
    texts: tuple[str, ...]
    """Files with the terms, below site-packages."""


def main() -> int:
    """Prints the table and what is wrong, and returns the exit code."""
    try:
        image = frozenset(pins(IMAGE))
        found = [licence_of(name) for name in sorted(image | with_extras())]
    except ReleaseError as error:
        print(f"licences: {error}", file=sys.stderr)
        return 1
    for each in found:
        where = "image" if each.name in image else "extra"
        print(f"{each.name:28} {each.version:18} {where:6} {each.expression}{_remark(each)}")
    wrong = problems(found)
    for problem in wrong:
        print(f"licences: {problem}", file=sys.stderr)
    return 1 if wrong else 0


def _remark(licence: Licence) -> str:
    if licence.is_judged:
        return f"  (judged: {JUDGED[licence.name].reason})"
    if licence.name in EXCEPTIONS:
        return f"  (exception: {EXCEPTIONS[licence.name].reason})"
    return ""


def licence_of(name: str) -> Licence:
    """By the metadata. Raises ReleaseError where it is not installed, or they state none that is understood."""
    try:
        found = distribution(name)
    except PackageNotFoundError as error:
        raise ReleaseError(f"{name} is not installed here: run make venv") from error
    judged = JUDGED.get(name)
    stated = _stated(found)
    if judged is not None and judged.stated == stated:
        expression = judged.licence
    else:
        judged = None
        try:
            expression = canonicalize_license_expression(SPELLINGS.get(stated, stated))
        except InvalidLicenseExpression as error:
            raise ReleaseError(
                f"{name} {found.version} states the licence {stated!r}, which is no SPDX expression: read its text, "
                "and add it to JUDGED in scripts/release/licence_terms.py"
            ) from error
    return Licence(name, found.version, expression, is_judged=judged is not None, texts=_texts(name, found))


def _stated(found: Distribution) -> str:
    metadata = found.metadata
    for field in ("License-Expression", "License"):
        if field in metadata:
            return str(metadata[field]).strip()
    classifiers = metadata.get_all("Classifier") or []
    return (
        " AND ".join(each.removeprefix(_CLASSIFIER) for each in classifiers if each.startswith(_CLASSIFIER)) or "none"
    )


def _texts(name: str, found: Distribution) -> tuple[str, ...]:
    elsewhere = TEXTS_ELSEWHERE.get(name)
    files = [str(path) for path in found.files or []]
    return tuple(sorted(path for path in files if path == elsewhere or _TEXT.search(path)))


def problems(licences: Iterable[Licence]) -> list[str]:
    """What stands against shipping these."""
    found = list(licences)
    wrong = [
        f"{each.name} {each.version} is under {each.expression}, which is not allowed: do without it, or add an "
        "exception with its reason to scripts/release/licence_terms.py"
        for each in found
        if not is_allowed(each)
    ]
    wrong += [f"{each.name} {each.version} brings no text of its licence" for each in found if not each.texts]
    needed = {each.name for each in found if not _permits(each.expression, ALLOWED)}
    judged = {each.name for each in found if each.is_judged}
    wrong += [f"the exception for {name} serves nothing: remove it" for name in sorted(EXCEPTIONS.keys() - needed)]
    wrong += [
        f"the judgement of {name} serves nothing: its metadata say something else, or it is gone"
        for name in sorted(JUDGED.keys() - judged)
    ]
    return wrong


def is_allowed(licence: Licence) -> bool:
    """By the list, or by an exception for this one."""
    exempted = {EXCEPTIONS[licence.name].licence} if licence.name in EXCEPTIONS else set()
    return _permits(licence.expression, ALLOWED | exempted)


def _permits(expression: str, allowed: frozenset[str]) -> bool:
    """Of alternatives one is enough; of licences that hold together each is needed."""
    return _holds(_SPDX.parse(expression, validate=True), allowed)


def _holds(part: object, allowed: frozenset[str]) -> bool:
    if isinstance(part, LicenseSymbol):
        return part.key in allowed
    parts = [_holds(each, allowed) for each in getattr(part, "args", ())]
    if not parts:  # a licence with an exception of its own, `GPL-2.0-only WITH …`
        return str(part) in allowed
    return all(parts) if isinstance(part, AND) else any(parts)


if __name__ == "__main__":
    sys.exit(main())
