#!/bin/sh
# Renders SOURCE and pushes the result as an OCI artifact, which Flux follows:
#
#   push-oci.sh clusters/west ghcr.io/example/rendered/west:latest
#
# If packwise finds an error, the script pushes nothing. It needs crane (go-containerregistry), logged in to the registry.
set -eu
source=${1:?"usage: $0 SOURCE IMAGE:TAG"} image=${2:?"usage: $0 SOURCE IMAGE:TAG"}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
packwise render "$source" -o "$folder/rendered"
# The same files give the same artifact, so Flux ignores a push without changes.
tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --directory "$folder/rendered" . |
  gzip --no-name > "$folder/rendered.tgz"
crane append --new_layer "$folder/rendered.tgz" --new_tag "$image"
