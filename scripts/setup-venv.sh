#!/bin/sh
# Keeps the development environment in .venv.
#
#   setup-venv.sh check   prints FORCE where .venv cannot serve this tree: missing, half made, made for another
#                         folder, its interpreter gone, or another one than $PYTHON asks for
#   setup-venv.sh build   makes it or mends it, and leaves .venv/.stamp
#
# The interpreter is $PYTHON where that is set, else the first of the candidates that is recent enough. Packages are
# installed by uv where it is on PATH, else by pip; from the lock, so each file has to have one of the checksums there.
set -eu
unset CDPATH PYTHONHOME PYTHONPATH PIP_PREFIX PIP_TARGET PIP_USER UV_PREFIX UV_PYTHON UV_SYSTEM_PYTHON UV_TARGET
cd -- "$(dirname -- "$0")/.."

CANDIDATES='python3.14 python3.13 python3.12 python3.11 python3 python'
STAMP=.venv/.stamp
HERE=$(pwd -P)

say() { printf 'venv: %s\n' "$*"; }
fail() {
    printf 'venv: %s\n' "$*" >&2
    exit 1
}

# A name on PATH may be a launcher without an interpreter behind it, so each is asked by running it.
version_of() { "$1" -c 'import platform; print(platform.python_version())' 2>/dev/null; }
is_recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
makes_venvs() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }
has_uv() { uv --version >/dev/null 2>&1; }

# The interpreter itself, where the name leads to an environment (perhaps the very one that is to be replaced).
base_of() { "$1" -c 'import sys; print(getattr(sys, "_base_executable", None) or sys.executable)'; }

is_usable() {
    [ -f "$STAMP" ] && [ "$(cat "$STAMP")" = "$HERE" ] && is_recent .venv/bin/python || return 1
    [ -z "${PYTHON:-}" ] || [ "$(version_of "$PYTHON")" = "$(version_of .venv/bin/python)" ]
}

choose_interpreter() {
    if [ -n "${PYTHON:-}" ]; then
        version=$(version_of "$PYTHON") || fail "PYTHON=$PYTHON does not run"
        is_recent "$PYTHON" || fail "PYTHON=$PYTHON is Python $version; Python 3.11 or later is needed"
        has_uv || makes_venvs "$PYTHON" || fail "$(without_venv "$PYTHON")"
        base_of "$PYTHON"
        return
    fi
    seen='' bare=''
    for name in $CANDIDATES; do
        version=$(version_of "$name") || continue
        if ! is_recent "$name"; then
            seen="$seen $name is $version;"
        elif has_uv || makes_venvs "$name"; then
            base_of "$name"
            return
        else
            bare=${bare:-$name}
        fi
    done
    [ -z "$bare" ] || fail "$(without_venv "$bare")"
    fail "no Python 3.11 or later on PATH;$seen install one, or name it: make PYTHON=/path/to/python"
}

without_venv() {
    printf '%s' "$1 comes without the modules venv and ensurepip; install them (Debian, Ubuntu: " \
        "apt install python3-venv), install uv, or name another interpreter: make PYTHON=/path/to/python"
}

build() {
    if ! is_usable || ! { has_uv || .venv/bin/python -m pip --version >/dev/null 2>&1; }; then
        interpreter=$(choose_interpreter)
        say "making .venv with Python $(version_of "$interpreter")"
        rm -rf .venv
        if has_uv; then
            uv venv --quiet --no-project --python "$interpreter" .venv
        else
            "$interpreter" -m venv .venv
        fi
    fi
    if has_uv; then
        set -- uv pip install --quiet --python .venv/bin/python
        say 'installing requirements-dev.lock and the project, with uv'
    else
        set -- .venv/bin/python -m pip install --quiet --no-input --disable-pip-version-check
        say 'installing requirements-dev.lock and the project, with pip'
    fi
    "$@" --require-hashes -r requirements-dev.lock
    # Whatever it needs is there: nothing is fetched that is not in the lock.
    "$@" --no-deps --no-build-isolation -e .
    printf '%s\n' "$HERE" >"$STAMP"
}

case ${1:-} in
    check) is_usable || echo FORCE ;;
    build) build ;;
    *) fail 'usage: setup-venv.sh check | build' ;;
esac
