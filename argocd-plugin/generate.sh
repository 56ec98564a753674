#!/bin/sh
# What plugin.yaml names packwise-argocd; it runs in the application's folder.
#
#   discover   prints something where packwise is to render this folder
#   generate   manifests on stdout, findings on stderr; 1 where there is an error, so that Argo CD syncs nothing
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

# Whoever may write an Application chooses these paths: they lead to nothing but the application's own repository.
refuse_outside() {
  root=$(pwd -P)
  # Where the repo-server goes by manifest-generate-paths, it sends a part of the repository: the path begins further down then.
  path=${ARGOCD_APP_SOURCE_PATH:-.}
  while [ "${root%"/$path"}" = "$root" ] && [ "${path#*/}" != "$path" ]; do
    path=${path#*/}
  done
  root=${root%"/$path"}
  case $(realpath -m "$1") in
    "$root"/*) ;;
    *) echo "error: \"$1\" must stand within the repository; correct the parameters of the Application" >&2 && exit 1 ;;
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
    echo 'error: spec.gitops of the TopologyRender must name argocd, so that the output is what Argo CD applies' >&2
    exit 1
  fi
  # Configuration and previews stand in local/: no API server knows them.
  find "$folder/rendered/topologies" "$folder/rendered/workloads" -type f ! -name '.*' | LC_ALL=C sort |
    while IFS= read -r file; do
      echo "---"
      cat "$file"
      echo
    done
}

"$1"
