#!/bin/sh
# Usage: sh requirements/lock.sh [OPTIONS OF uv pip compile]      (what `make lock` runs)
#
# Writes grade.txt, course.txt and dev.txt from their .in files: one exact version per package for every platform and
# every Python from 3.11 on. Versions that still fit are kept; `make lock ARGS=--upgrade` takes the newest. torch is
# pinned by hand in torch.txt instead. grade-hashed.txt, used to build images, is grade.txt with hashes.
set -eu

lock=.venv/lock  # inside .venv, so that `make clean` removes it
if [ ! -x $lock/bin/uv ]; then
    .venv/bin/python -I -m venv $lock
    $lock/bin/python -I -m pip install -qq uv
fi
for name in grade course dev; do  # in this order, since later ones are constrained by earlier ones
    echo "Locking requirements/$name.txt ..."
    $lock/bin/uv pip compile -q --universal --python-version 3.11 --fork-strategy fewest \
        --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
        "$@" requirements/$name.in -o requirements/$name.txt
done
$lock/bin/uv pip compile -q --universal --python-version 3.11 --no-deps --no-annotate --generate-hashes \
    --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
    requirements/grade.txt -o requirements/grade-hashed.txt
