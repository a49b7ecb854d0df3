#!/bin/sh
# Usage: sh requirements/setup.sh [course] [dev]      (from the top folder; the Makefile calls it before every target)
#
# Brings .venv up to date: Python, torch, the grader's dependencies, and on request those in course.txt and dev.txt.
# If nothing has changed, it compares a few small files and starts neither Python nor pip. Variables:
#
#   PYTHON           the Python to use. If its environment has torch, .venv sees that environment's packages and gets
#                    only the missing ones. Not set: .venv keeps its Python, and a new .venv uses the first one found.
#   TORCH_INDEX_URL  the index to try first for torch. Empty: use only pip's default index.
#
# .venv/setup contains:
#
#   python           the requested PYTHON, or an empty line; written last, when .venv is complete
#   borrowed         the folder of torch in PYTHON's environment, if .venv borrows it
#   NAME.txt         the installed version of requirements/NAME.txt
#   busy             the contents of site-packages before the current step (see `sound`)
set -eu
trap 'exit 130' INT # pip reports Ctrl-C as an ordinary failure, which would look like an unreachable index
trap 'exit 143' TERM

memory=.venv/setup
quiet=-qq
torch_index=${TORCH_INDEX_URL-https://download.pytorch.org/whl/cpu}

die() {
    echo "$*" >&2
    exit 2
}

# Prints one per line: version, executable outside any venv, torch's folder or nothing, package folders.
# Exit status: 3 if the Python is too old, 4 if it cannot create a venv (a separate package on Debian).
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

# Succeeds if .venv is complete, usable and made for this PYTHON. A killed or failed step leaves `busy` behind: if it
# had not changed a package yet (no network, Ctrl-C while downloading), .venv is still good.
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
        die ".venv was created by another tool: remove it (make clean) or move it away, then try again."
    fi
    if [ -n "$PYTHON" ]; then
        facts=$(probe "$PYTHON") || case $? in
            3) die "PYTHON=$PYTHON is older than Python 3.11: give a newer one." ;;
            4) die "PYTHON=$PYTHON has no venv module: install it (Debian, Ubuntu: apt install python3-venv)." ;;
            *) die "PYTHON=$PYTHON does not start: give the path of Python 3.11 or newer." ;;
        esac
    else
        for python in python3 python3.14 python3.13 python3.12 python3.11 ""; do
            [ -n "$python" ] || die "Python 3.11 or newer with its venv module was not found: install it" \
                "(Debian, Ubuntu: apt install python3-venv) or give its path (make setup PYTHON=/path/to/python3)."
            facts=$(probe "$python") && break
        done
    fi
    fact() { echo "$facts" | sed -n "$1"; }
    [ -n "$PYTHON" ] && torch=$(fact 3p) || torch=
    echo "Setting up .venv with Python $(fact 1p)${torch:+ and the packages of $PYTHON} ..."
    rm -rf .venv
    mkdir -p $memory # first, to mark an incomplete .venv as ours
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
        # Fail fast if this index is blocked.
        pip_install --no-deps --retries 1 --timeout 10 --index-url "$torch_index" -r "$1" 2>$memory/torch.log && return
        echo "Could not get torch from $torch_index (see $memory/torch.log): trying the default index ..."
    fi
    pip_install --no-deps -r "$1" && .venv/bin/python -I -c "import torch" 2>/dev/null && return
    # A GPU-only build does not import without its libraries.
    die "No CPU build of torch was found for this Python. Give an index that has one (TORCH_INDEX_URL=...)," \
        "another Python (PYTHON=...), or a Python that already has torch (PYTHON=...)."
}

# require NAME WHAT: installs requirements/NAME.txt unless it is up to date; WHAT is its description in the output.
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
            [ ! -t 1 ] || quiet= # it takes minutes, so show progress at a terminal
            install_torch "$list"
            quiet=-qq
        else
            pip_install -r "$list" >$memory/pip.log 2>&1 ||
                die "Could not install $2. Is there a network connection? $(grep -m 1 ERROR $memory/pip.log)" \
                    "(all messages: $memory/pip.log)"
        fi
    fi
    cp requirements/"$1".txt $memory/"$1".txt
    rm $memory/busy
}

PYTHON=${PYTHON-}
case $PYTHON in
    "") ;;
    .venv/* | "$PWD"/.venv/*) PYTHON= ;; # .venv is activated: this is its own Python
    *)
        found=$(command -v "$PYTHON") || die "PYTHON=$PYTHON was not found: give the path of Python 3.11 or newer."
        PYTHON=$found
        ;;
esac

# One setup at a time. The kernel releases the lock when this process and its pip end, however they do. Without flock
# (macOS) or file locking (some network file systems), continue unlocked.
if command -v flock >/dev/null; then
    exec 9<requirements/setup.sh
    flock 9 || :
fi
sound || make_venv
require grade "the grader's dependencies"
require torch "torch (CPU, about 200 MB)"
for name; do
    require "$name" "the packages in requirements/$name.txt"
done
