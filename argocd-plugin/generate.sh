#!/bin/sh
# The program packwise-argocd of plugin.yaml. It runs in the application's folder.
#
#   discover   prints a line if packwise renders this folder
#   generate   manifests on stdout, findings on stderr; exits with 1 after an error, so that Argo CD syncs nothing
set -eu

is_kustomization() {
  [ -e kustomization.yaml ] || [ -e kustomization.yml ] || [ -e Kustomization ]
}

discover() {
  if [ -n "${PARAM_CONFIG:-}" ]; then
    echo "$PARAM_CONFIG"
  elif ! is_kustomization; then
    grep -rslE --include='*.yaml' --include='*.yml' '^kind: *TopologyRender *(#.*)?$' . || true
  fi
}

# The author of an Application chooses these paths, so they must stay within the application's own repository.
refuse_outside() {
  root=$(pwd -P)
  # With manifest-generate-paths, the repo-server sends only a part of the repository, and the path begins further down.
  path=${ARGOCD_APP_SOURCE_PATH:-.}
  while [ "${root%"/$path"}" = "$root" ] && [ "${path#*/}" != "$path" ]; do
    path=${path#*/}
  done
  root=${root%"/$path"}
  case $(realpath -m "$1") in
    "$root"/*) ;;
    *) echo "error: \"$1\" is outside the repository; correct the parameters of the Application" >&2 && exit 1 ;;
  esac
}

generate() {
  set -- # the options of packwise
  if [ -n "${PARAM_CONFIG:-}" ]; then
    refuse_outside "$PARAM_CONFIG"
    set -- "$@" --config "$PARAM_CONFIG"
  fi
  number=0
  while crd=$(printenv "PARAM_CRDS_$number"); do
    refuse_outside "$crd"
    set -- "$@" --crds "$crd"
    number=$((number + 1))
  done

  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  if is_kustomization; then
    kustomize build . > "$folder/built.yaml"
    packwise render "$@" "$folder/built.yaml" -o "$folder/rendered" >&2
  else
    packwise render "$@" . -o "$folder/rendered" >&2
  fi
  if [ ! -d "$folder/rendered/topologies" ]; then
    echo 'error: spec.gitops of the TopologyRender does not name argocd; add it, so that Argo CD can apply the output' >&2
    exit 1
  fi
  # Configuration and previews are in local/, because no API server accepts them.
  find "$folder/rendered/topologies" "$folder/rendered/workloads" -type f ! -name '.*' | LC_ALL=C sort |
    while IFS= read -r file; do
      echo "---"
      cat "$file"
      echo
    done
}

"$1"
