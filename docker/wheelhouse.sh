#!/bin/sh
# Usage: sh docker/wheelhouse.sh      (from the top folder; what `make wheelhouse` runs)
#
# Downloads every wheel for the images into wheelhouse/, pinned by version and hash, torch as its CPU build. After that,
# building an image needs no network. Variables:
#
#   WHEEL_PYTHON     the Python of the base image, such as 3.11 (default: .venv's)
#   TORCH_INDEX_URL  the index to try first for torch. Empty: use only pip's default index.
set -eu

torch_index=${TORCH_INDEX_URL-https://download.pytorch.org/whl/cpu}
python=${WHEEL_PYTHON:-$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')}
case $python in
    3.1[1-9]) ;;
    *) echo "WHEEL_PYTHON=$python: give the base image's Python version, such as 3.11." >&2; exit 2 ;;
esac
case $(uname -m) in # containers run on the machine's own architecture
    arm64 | aarch64) machine=aarch64 ;;
    *) machine=x86_64 ;;
esac
lists="requirements/grade-hashed.txt requirements/torch-hashed.txt"

# Reuse wheelhouse/ if it is complete and was made from these lists for this Python.
key=$(cat $lists | cksum)
if [ "$(cat wheelhouse/made-for 2>/dev/null)" = "$python $machine $key" ] &&
    (cd wheelhouse && sha256sum --quiet -c SHA256SUMS 2>/dev/null); then
    exit
fi

# Start over after a failure: pip's cache keeps finished downloads.
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

echo "Downloading wheels for Python $python on $machine into wheelhouse/ ..."
fetch -r requirements/grade-hashed.txt
{ [ -n "$torch_index" ] &&
    fetch --retries 1 --timeout 10 --index-url "$torch_index" -r requirements/torch-hashed.txt 2>wheelhouse.new/log; } ||
    fetch -r requirements/torch-hashed.txt || {
    echo "No CPU build of torch for Python $python matches a hash in requirements/torch-hashed.txt (see there)." >&2
    exit 2
}
rm -f wheelhouse.new/log
(cd wheelhouse.new && sha256sum -- *.whl >SHA256SUMS && echo "$python $machine $key" >made-for)
rm -rf wheelhouse
mv wheelhouse.new wheelhouse
echo "wheelhouse/: $(ls wheelhouse/*.whl | wc -l) wheels, $(du -sm wheelhouse | cut -f1) MB"
