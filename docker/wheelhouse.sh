#!/bin/sh
# Usage: sh docker/wheelhouse.sh      (from the top folder; what `make wheelhouse` runs)
#
# Fetches into wheelhouse/ every wheel that an image is made from, each pinned by version and hash, torch as its CPU
# build. With it there, building an image needs no network. Variables:
#
#   WHEEL_PYTHON     the Python of the base image, such as 3.11 (default: that of .venv)
#   TORCH_INDEX_URL  where to ask for torch first. Empty: pip's default index straight away.
set -eu

torch_index=${TORCH_INDEX_URL-https://download.pytorch.org/whl/cpu}
python=${WHEEL_PYTHON:-$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')}
case $python in
    3.1[1-9]) ;;
    *) echo "WHEEL_PYTHON=$python: give the base image's Python as 3.11, 3.12 and so on." >&2; exit 2 ;;
esac
case $(uname -m) in # containers run on the machine's own architecture
    arm64 | aarch64) machine=aarch64 ;;
    *) machine=x86_64 ;;
esac
lists="requirements/grade-hashed.txt requirements/torch-hashed.txt"

# What is there already is good if it was made from these lists for this Python, and is whole.
key=$(cat $lists | cksum)
if [ "$(cat wheelhouse/made-for 2>/dev/null)" = "$python $machine $key" ] &&
    (cd wheelhouse && sha256sum --quiet -c SHA256SUMS 2>/dev/null); then
    exit
fi

# sh docker/wheelhouse.sh is run again after a failure: pip's own cache keeps what came through.
rm -rf wheelhouse.new
mkdir wheelhouse.new
trap 'rm -rf wheelhouse.new' EXIT
fetch() {
    .venv/bin/python -I -m pip download -qq --no-input --disable-pip-version-check --require-hashes --no-deps \
        --only-binary :all: --implementation cp --python-version "$python" \
        --abi "cp${python%.*}${python#*.}" --abi abi3 --abi none \
        --platform "manylinux_2_28_$machine" --platform "manylinux_2_27_$machine" --platform "manylinux_2_24_$machine" \
        --platform "manylinux_2_17_$machine" --platform "manylinux2014_$machine" --platform any \
        -d wheelhouse.new "$@"
}

echo "Fetching wheels for Python $python on $machine into wheelhouse/ ..."
fetch -r requirements/grade-hashed.txt
{ [ -n "$torch_index" ] &&
    fetch --retries 1 --timeout 10 --index-url "$torch_index" -r requirements/torch-hashed.txt 2>wheelhouse.new/log; } ||
    fetch -r requirements/torch-hashed.txt || {
    echo "No CPU build of torch for Python $python with a hash that requirements/torch-hashed.txt lists (see there)." >&2
    exit 2
}
rm -f wheelhouse.new/log
(cd wheelhouse.new && sha256sum -- *.whl >SHA256SUMS && echo "$python $machine $key" >made-for)
rm -rf wheelhouse
mv wheelhouse.new wheelhouse
echo "wheelhouse/: $(ls wheelhouse/*.whl | wc -l) wheels, $(du -sm wheelhouse | cut -f1) MB"
