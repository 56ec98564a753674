#!/bin/sh
# packwise under every Python from 3.11 to 3.14 that this machine has, in .cache/interpreters, for the tests of
# determinism (`make interpreters`). A Python is taken from PATH, then from pyenv, where it need not be the global one.
# Python 3.14 is also had from Maven Central, for Linux on x86-64: JavaCPP's build of CPython, with the digest below.
set -eu

PLACES=.cache/interpreters
JAR=cpython-3.14.3-1.5.13-linux-x86_64.jar
COORDINATES=org.bytedeco:cpython:3.14.3-1.5.13:jar:linux-x86_64
SHA256=eb5f1a6fe2dc498ac18927189a37f28a47b0ba06ae6bd85112eff023fe2eb46f
UV=.venv/bin/uv

# The path of the Python of this version; nothing where there is none.
find_python() {
  for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python"$1" "$PLACES/cpython/bin/python$1"; do
    # A shim of pyenv is on PATH for every version that it has, and starts the chosen ones only.
    if "$candidate" -c 'import ensurepip, ssl, venv' 2> /dev/null; then
      command -v "$candidate"
      return
    fi
  done
}

bring_cpython() {
  [ "$(uname -sm)" = "Linux x86_64" ] && command -v mvn > /dev/null || return 0
  rm -rf "$PLACES/jar" "$PLACES/cpython" && mkdir -p "$PLACES/jar/tree"
  mvn --quiet --batch-mode dependency:copy -Dartifact="$COORDINATES" -DoutputDirectory="$PWD/$PLACES/jar" \
    -Dmdep.stripVersion=false > "$PLACES/jar/log" 2>&1 || { echo "python3.14 did not come from Maven: $PLACES/jar/log"; return 0; }
  echo "$SHA256  $PLACES/jar/$JAR" | sha256sum --check --quiet
  python3 -m zipfile -e "$PLACES/jar/$JAR" "$PLACES/jar/tree"
  mv "$PLACES/jar/tree/org/bytedeco/cpython/linux-x86_64" "$PLACES/cpython"
  chmod +x "$PLACES/cpython/bin/"*
  rm -r "$PLACES/jar"
}

mkdir -p "$PLACES"
for version in 3.11 3.12 3.13 3.14; do
  place=$PLACES/$version
  python=$(find_python $version)
  if [ -z "$python" ] && [ $version = 3.14 ]; then
    bring_cpython
    python=$(find_python $version)
  fi
  [ -n "$python" ] || { echo "python$version is neither on PATH nor in pyenv: determinism is not tested with it"; continue; }
  if ! [ "$place/bin/packwise" -nt requirements.lock ]; then
    rm -rf "$place" && $UV venv --quiet --python "$python" "$place"
    install() { $UV pip install --quiet --python "$place/bin/python" "$@"; }
    install --require-hashes --requirement requirements.lock --requirement requirements-build.lock
    install --no-deps --no-build-isolation --no-index --editable ./fn/krmfn --editable .
    touch "$place/bin/packwise"
  fi
  echo "ready: $place/bin/packwise ($("$place/bin/python" --version))"
done
