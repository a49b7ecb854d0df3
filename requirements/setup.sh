#!/bin/sh
# Usage: sh requirements/setup.sh [course] [dev]      (from the top folder; the Makefile calls it before every target)
#
# Brings .venv up to date: a Python, torch, what grading needs, and on request what course.txt and dev.txt list.
# With nothing to do it compares a few small files and starts neither Python nor pip. Variables:
#
#   PYTHON           the Python to use. If its environment has torch, .venv sees the packages of that environment and
#                    gets only what is missing. Not set: .venv stays with its Python, a new one takes the first found.
#   TORCH_INDEX_URL  where to ask for torch first. Empty: pip's default index straight away.
#
# What .venv/setup remembers:
#
#   python           the PYTHON that was asked for, or an empty line; written last, when .venv is complete
#   borrowed         where the torch of PYTHON's environment lies, if .venv borrows it
#   NAME.txt         the requirements/NAME.txt that is installed
#   busy             what site-packages held before the step under way (see `sound`)
set -eu
trap 'exit 130' INT # pip turns Ctrl-C into an ordinary failure, which must not look like an index that is down
trap 'exit 143' TERM

memory=.venv/setup
quiet=-qq
torch_index=${TORCH_INDEX_URL-https://download.pytorch.org/whl/cpu}

die() {
    echo "$*" >&2
    exit 2
}

# On standard output, one a line: version, executable outside of any venv, folder of torch or nothing, package folders.
# Exit status: 3 when the Python is too old, 4 when it cannot make a venv (Debian has that in a package of its own).
probe() {
    "$1" -c '
import sys
if sys.version_info < (3, 11):
    sys.exit(3)
try:
    import ensurepip, venv
except ImportError:
    sys.exit(4)
import importlib.util, os
stdlib = os.path.dirname(os.__file__)
sys.path = [p for p in sys.path if os.path.isdir(p) and p not in (stdlib, os.path.join(stdlib, "lib-dynload"))]
torch = importlib.util.find_spec("torch")
print("%d.%d" % sys.version_info[:2])
print(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
print(os.path.dirname(torch.origin) if torch and torch.origin else "")
print("\n".join(os.path.abspath(p) for p in sys.path))
' 2>/dev/null
}

packages() {
    ls .venv/lib/python*/site-packages 2>/dev/null
}

# Is .venv complete, usable and made for this PYTHON? A step that was killed or failed leaves `busy` behind: if it had
# changed no package yet (no network, Ctrl-C while downloading), what was there before is still good.
sound() {
    [ -x .venv/bin/python ] && [ -f $memory/python ] || return 1
    for pip in .venv/lib/python*/site-packages/pip/__main__.py; do
        [ -f "$pip" ] || return 1
    done
    read -r asked <$memory/python
    [ -z "$PYTHON" ] || [ "$PYTHON" = "$asked" ] || return 1
    if [ -f $memory/borrowed ]; then
        read -r torch <$memory/borrowed
        [ -d "$torch" ] || return 1
    fi
    if [ -f $memory/busy ]; then
        [ "$(packages)" = "$(cat $memory/busy)" ] || return 1
        rm $memory/busy
    fi
}

make_venv() {
    if [ -d .venv ] && [ ! -d $memory ] && .venv/bin/python -c "" 2>/dev/null; then
        die ".venv is an environment that something else made: remove it (make clean) or move it away, then try again."
    fi
    if [ -n "$PYTHON" ]; then
        facts=$(probe "$PYTHON") || case $? in
            3) die "PYTHON=$PYTHON is older than Python 3.11: name a newer one." ;;
            4) die "PYTHON=$PYTHON has no venv module: install it (Debian, Ubuntu: apt install python3-venv)." ;;
            *) die "PYTHON=$PYTHON is not a Python that starts: give the path of one, 3.11 or newer." ;;
        esac
    else
        for python in python3 python3.14 python3.13 python3.12 python3.11 ""; do
            [ -n "$python" ] || die "No Python 3.11 or newer found, with its venv module: install one" \
                "(Debian, Ubuntu: apt install python3-venv) or name one (make setup PYTHON=/path/to/python3)."
            facts=$(probe "$python") && break
        done
    fi
    fact() { echo "$facts" | sed -n "$1"; }
    [ -n "$PYTHON" ] && torch=$(fact 3p) || torch=
    echo "Setting up .venv with Python $(fact 1p)${torch:+ and the packages of $PYTHON} ..."
    rm -rf .venv
    mkdir -p $memory # before anything else, so that a half-made .venv is known as ours
    "$(fact 2p)" -m venv .venv
    if [ -n "$torch" ]; then
        for site in .venv/lib/python*/site-packages; do
            fact "4,\$p" >"$site/borrowed.pth" # unlike --system-site-packages, this also works when PYTHON is in a venv
        done
        echo "$torch" >$memory/borrowed
    fi
    echo "$PYTHON" >$memory/python.new
    mv $memory/python.new $memory/python
}

pip_install() {
    PIP_USER=0 PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1 .venv/bin/python -I -m pip install $quiet "$@"
}

install_torch() {
    if [ -n "$torch_index" ]; then
        # Few and short attempts: where this index is blocked, nobody should have to wait for it.
        pip_install --no-deps --retries 1 --timeout 10 --index-url "$torch_index" -r "$1" 2>$memory/torch.log && return
        echo "No torch from $torch_index ($memory/torch.log says why): falling back to the default index ..."
    fi
    pip_install --no-deps -r "$1" && .venv/bin/python -I -c "import torch" 2>/dev/null && return
    # Where the default index has a build for GPUs only, it does not even import without their libraries.
    die "There is no CPU build of torch to be had for this Python. Name an index that has one (TORCH_INDEX_URL=...)," \
        "another Python (PYTHON=...), or a Python that has torch already (PYTHON=...)."
}

# require NAME WHAT: installs what requirements/NAME.txt lists, unless that is done, saying WHAT it is.
require() {
    cmp -s requirements/"$1".txt $memory/"$1".txt && return
    packages >$memory/busy
    list=requirements/$1.txt
    if [ -f $memory/borrowed ] && { [ "$1" = torch ] || [ "$1" = grade ]; }; then
        list=$memory/missing.txt
        .venv/bin/python -I requirements/missing.py requirements/"$1".txt >$list
    fi
    if [ -s "$list" ]; then
        echo "Installing $2 ..."
        if [ "$1" = torch ]; then
            [ ! -t 1 ] || quiet= # it takes minutes: whoever waits at a terminal sees how far it is
            install_torch "$list"
            quiet=-qq
        else
            pip_install -r "$list"
        fi
    fi
    cp requirements/"$1".txt $memory/"$1".txt
    rm $memory/busy
}

PYTHON=${PYTHON-}
case $PYTHON in
    "") ;;
    .venv/* | "$PWD"/.venv/*) PYTHON= ;; # somebody activated .venv: that is no other Python
    *)
        found=$(command -v "$PYTHON") || die "PYTHON=$PYTHON is not there: give the path of a Python, 3.11 or newer."
        PYTHON=$found
        ;;
esac

# One set-up at a time. The kernel gives the lock back when this process and its pip are gone, however they end. Where
# there is no flock (macOS) or no locking (some network file systems), go on without.
if command -v flock >/dev/null; then
    exec 9<requirements/setup.sh
    flock 9 || :
fi
sound || make_venv
require grade "what grading needs"
require torch "torch (CPU, about 200 MB)"
for name; do
    require "$name" "what requirements/$name.txt lists"
done
