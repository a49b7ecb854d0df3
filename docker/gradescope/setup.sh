#!/usr/bin/env bash
# Gradescope runs this once, as root, to build the assignment's image. It sets up a separate Python for the grader in
# /autograder/source/.venv; the system's python3, which Gradescope's harness uses, is left untouched.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

die() {
    echo "setup.sh: $*" >&2
    exit 1
}

usable() {
    "$1" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

found() { # succeed if a Python 3.11 or newer can create a venv
    local python
    for python in python3 python3.14 python3.13 python3.12 python3.11; do
        usable "$python" && return
    done
    return 1
}

chmod 600 secret

if ! found; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || die "the package lists could not be downloaded: build the autograder again later."
    for version in 3.14 3.13 3.12 3.11; do
        [ -n "$(apt-cache search --names-only "^python$version-venv\$")" ] || continue
        echo "Installing Python $version next to the system's ..."
        apt-get install -y -qq --no-install-recommends "python$version" "python$version-venv" >/dev/null && break
    done
    rm -rf /var/lib/apt/lists/*
fi
found || die "this base image has no Python 3.11 or newer to use or install: choose a newer Ubuntu" \
    "as base image in the autograder's settings, or use the Docker way (see README.md)."

export PYTHON= PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
sh requirements/setup.sh # finds that Python itself
.venv/bin/python -m compileall -q autograder # importing on half a core is slow
.venv/bin/python -B -m autograder grade --help >/dev/null || die "the grader does not start: see the output above."
echo "The grader is ready."
