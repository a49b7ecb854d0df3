#!/bin/sh
# Runs in the build stage of docker/Dockerfile: wheels from /build/wheelhouse into /opt/autograder/venv, the grader into
# /opt/autograder/app. The base's own Python stays as it is. Two builds give the same bytes.
set -eu
umask 022
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
opt=/opt/autograder
cd /build

read -r minor machine _ <wheelhouse/made-for
python=
for candidate in "python$minor" python3; do
    case $("$candidate" -c 'import sys, ensurepip, venv; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) in
        "$minor") python=$(command -v "$candidate") && break ;;
    esac
done
[ -n "$python" ] || {
    echo "The base image has no Python $minor with its venv module, for which wheelhouse/ was made." >&2
    exit 1
}

"$python" -m venv --without-pip $opt/venv
"$python" -m venv pip # thrown away with this stage
pip/bin/python -I -m pip --python $opt/venv/bin/python install -q --no-index --find-links wheelhouse --no-deps \
    --require-hashes --no-compile --no-cache-dir --disable-pip-version-check --root-user-action ignore \
    -r requirements/grade-hashed.txt -r requirements/torch-hashed.txt

# What only compilers and test runs want.
site=$(echo $opt/venv/lib/python*/site-packages)
find "$site" -type d \( -name tests -o -name test \) -prune -exec rm -rf {} +
rm -rf "$site"/torch/include "$site"/torch/share
find "$site"/torch/bin -type f ! -name torch_shm_manager -delete # that one torch looks for when it is imported
find "$site" -name '*.a' -delete

mkdir $opt/app
cp -R autograder $opt/app/
echo $opt/app >"$site/autograder.pth"
# Compiled here, once: read without a look at the time of the source, which differs from one build to the next. In
# torch there are files that only a newer Python can compile.
compile() {
    $opt/venv/bin/python -m compileall -q --invalidation-mode unchecked-hash "$@"
}
compile -x torch/testing "$site"
compile $opt/app
printf '#!/bin/sh\nexec %s/venv/bin/python -P -m autograder "$@"\n' $opt >autograder.sh
chmod 755 autograder.sh

grep -q '^grader:' /etc/passwd || {
    echo "grader:x:10001:10001:grader:/tmp:/usr/sbin/nologin" >>/etc/passwd
    echo "grader:x:10001:" >>/etc/group
}
chmod -R u=rwX,go=rX $opt
find $opt autograder.sh /etc/passwd /etc/group -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
