#!/bin/sh
# Usage: sh docker/verify.sh      (what `make image-verify` runs; variables as in docker/image.sh)
#
# Builds the image twice from scratch and compares every file, and the digests if the builder can set all timestamps.
# The first build is kept, as after `make image`.
set -eu

docker=${DOCKER:-docker}
target=${TARGET:-grader}
folder=$(mktemp -d)
image=${IMAGE:-gpt-assembly:$target}
trap 'rm -rf "$folder"; $docker rmi -f gpt-assembly-verify:2 >/dev/null 2>&1' EXIT

build() { # build NUMBER IMAGE: record its files and digest
    IMAGE=$2 sh docker/image.sh --no-cache
    container=$($docker create "$2" true)
    $docker export "$container" | .venv/bin/python docker/contents.py >"$folder/$1"
    $docker rm "$container" >/dev/null
    $docker image inspect -f '{{.Id}}' "$2" >"$folder/id$1"
}
build 1 "$image"
build 2 gpt-assembly-verify:2
if ! diff "$folder/1" "$folder/2" >"$folder/differences"; then
    echo "The two builds differ in $(grep -c '^[<>]' "$folder/differences") lines, starting with:" >&2
    head -20 "$folder/differences" >&2
    exit 1
fi
echo "Both builds contain the same $(wc -l <"$folder/1") files: list sha256:$(sha256sum <"$folder/1" | cut -c1-64)"
if cmp -s "$folder/id1" "$folder/id2"; then
    echo "Both builds are the same image: $(cat "$folder/id1")"
else
    echo "Their digests differ, because this builder stores the build time in the image (docker buildx does not)."
fi
