#!/bin/sh
# Usage: sh docker/grade.sh SUBMISSION [OPTIONS OF grade]      (what `make docker-grade` runs)
#
# Grades in the image without network or privileges; only a small /tmp is writable. IMAGE and DOCKER as in image.sh.
set -eu

docker=${DOCKER:-docker}
image=${IMAGE:-gpt-assembly:grader}
[ -e "$1" ] || { echo "SUBMISSION=$1: not found; name a folder, a zip file or gpt.py." >&2 && exit 2; }
$docker image inspect "$image" >/dev/null 2>&1 || { echo "Image $image not found; run make image" >&2 && exit 2; }
submission=$(cd "$(dirname "$1")" && pwd -P)/$(basename "$1")
[ -d "$1" ] && submission=$(cd "$1" && pwd -P)
shift
# --mount parses CSV: a quoted name may contain commas, and its quotes are doubled.
quoted=$(printf %s "$submission" | sed 's/"/""/g')
inside=/submission/$(basename "$submission" | sed 's/"/""/g')
# The files may be readable only to the caller; root must not run student code.
user=$(id -u):$(id -g)
[ "$user" = 0:0 ] && user=grader

exec $docker run --rm --network none --read-only --cap-drop ALL --security-opt no-new-privileges --user "$user" \
    --memory 2g --memory-swap 2g --pids-limit 64 --tmpfs /tmp:rw,nosuid,nodev,size=256m,mode=1777 \
    --mount "type=bind,\"source=$quoted\",\"target=$inside\",readonly" \
    -e "COLUMNS=${COLUMNS:-$(tput cols 2>/dev/null || echo 80)}" \
    "$image" grade "/submission/$(basename "$submission")" "$@"
