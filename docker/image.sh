#!/bin/sh
# Usage: sh docker/image.sh [OPTIONS OF docker build]      (from the top folder; what `make image` runs)
#
#   BASE_IMAGE          the base image: any with Python 3.11 or newer and its venv module
#   TARGET              grader (default), prairielearn or gradescope
#   IMAGE               the image's name (default: gpt-assembly:TARGET)
#   SOURCE_DATE_EPOCH   the timestamp of every file (default: the last commit's)
#   DOCKER              the docker command (default: docker)
set -eu

docker=${DOCKER:-docker}
base=${BASE_IMAGE:-python:3.11-slim-bookworm}
target=${TARGET:-grader}
image=${IMAGE:-gpt-assembly:$target}
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}

die() {
    echo "$*" >&2
    exit 2
}

case $target in
    grader | prairielearn | gradescope) ;;
    *) die "TARGET=$target: choose grader, prairielearn or gradescope." ;;
esac
$docker version >/dev/null 2>&1 || die "$docker does not respond: install Docker, start it, and check your permissions."
$docker image inspect "$base" >/dev/null 2>&1 || $docker pull -q "$base" >/dev/null ||
    die "BASE_IMAGE=$base: not found locally, and pulling it failed."

# The wheels must match the base's Python.
python=$($docker run --rm --network none --entrypoint /bin/sh "$base" -c '
    for python in python3 python3.14 python3.13 python3.12 python3.11; do
        "$python" -c "import sys, ensurepip, venv; sys.version_info < (3, 11) and sys.exit(1)
print(\"%d.%d\" % sys.version_info[:2])" 2>/dev/null && exit
    done') || die "BASE_IMAGE=$base has no Python 3.11 or newer with its venv module." \
    "On Debian and Ubuntu, build a base that has it: printf 'FROM $base\nRUN apt-get update && apt-get install -y" \
    "python3.11-venv' | docker build -t base-with-python - , then BASE_IMAGE=base-with-python."
WHEEL_PYTHON=$python sh docker/wheelhouse.sh

if [ "$target" = gradescope ] && [ ! -s build/gradescope-secret ]; then
    mkdir -p build
    (umask 077 && .venv/bin/python -c 'import secrets; print(secrets.token_hex(32))' >build/gradescope-secret)
fi

set -- "$@" --network none --target "$target" -f docker/Dockerfile -t "$image" \
    --build-arg "BASE_IMAGE=$base" --build-arg "BASE_NAME=$base" --build-arg "SOURCE_DATE_EPOCH=$epoch" \
    --build-arg "VERSION=$(.venv/bin/python -c 'import autograder; print(autograder.__version__)')" \
    --build-arg "REVISION=$(git rev-parse HEAD 2>/dev/null || echo unknown)" \
    --build-arg "PYTHON=$python" --build-arg "TORCH=$(sed -n 's/^torch==//p' requirements/torch.txt)"
# If the builder supports it, set every timestamp, so that the digest is reproducible.
if $docker buildx version >/dev/null 2>&1; then
    $docker buildx build --output type=docker,rewrite-timestamp=true --provenance false "$@" .
elif $docker build --help 2>/dev/null | grep -q -- --timestamp; then
    $docker build --timestamp "$epoch" "$@" .
else
    log=$(mktemp)
    DOCKER_BUILDKIT=0 $docker build "$@" . >"$log" 2>&1 || { cat "$log" >&2 && rm "$log" && exit 1; }
    rm "$log"
fi
echo "$image: $($docker image inspect -f '{{.Size}}' "$image" | awk '{ printf "%.0f MB", $1 / 1e6 }')," \
    "on $base with Python $python"
