#!/bin/sh
# Runs in the build stage of docker/Dockerfile: wheels from /build/wheelhouse into /opt/autograder/venv, the grader into
# /opt/autograder/app. The base's own Python is left untouched. The build is reproducible byte for byte.
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
    echo "The base image lacks Python $minor with its venv module, which wheelhouse/ was made for." >&2
    exit 1
}

"$python" -m venv --without-pip $opt/venv
"$python" -m venv pip # thrown away with this stage
pip/bin/python -I -m pip --python $opt/venv/bin/python install -q --no-index --find-links wheelhouse --no-deps \
    --require-hashes --no-compile --no-cache-dir --disable-pip-version-check --root-user-action ignore \
    -r requirements/grade-hashed.txt -r requirements/torch-hashed.txt

# Only compilers and test runs need these.
site=$(echo $opt/venv/lib/python*/site-packages)
find "$site" -type d \( -name tests -o -name test \) -prune -exec rm -rf {} +
rm -rf "$site"/torch/include "$site"/torch/share
find "$site"/torch/bin -type f ! -name torch_shm_manager -delete # torch looks for it on import
find "$site" -name '*.a' -delete

mkdir $opt/app
cp -R autograder $opt/app/
echo $opt/app >"$site/autograder.pth"
# Unchecked hashes, since timestamps differ between builds. Some of torch's test files compile only on a newer Python.
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
