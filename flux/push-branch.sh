#!/bin/sh
# Renders SOURCE and commits the result to BRANCH of the same repository, which Flux follows:
#
#   push-branch.sh clusters/west rendered/west
#
# The branch changes in one commit or not at all. If packwise finds an error, the script pushes nothing.
set -eu
source=${1:?"usage: $0 SOURCE BRANCH"} branch=${2:?"usage: $0 SOURCE BRANCH"}

revision=$(git rev-parse --short HEAD)
tree=$(mktemp -d)/rendered
trap 'git worktree remove --force "$tree"; rmdir "$(dirname "$tree")"' EXIT
if git fetch --quiet origin "$branch" 2>/dev/null; then
  git worktree add --quiet --detach "$tree" FETCH_HEAD
else
  git worktree add --quiet --detach "$tree"
  git -C "$tree" checkout --quiet --orphan "rendered-$$"
  git -C "$tree" rm --quiet -r --force .
fi

packwise render "$source" -o "$tree"

git -C "$tree" add --all
if git -C "$tree" diff --cached --quiet; then
  echo "$branch is up to date"
else
  git -C "$tree" commit --quiet --message "Render $source at $revision"
  git -C "$tree" push --quiet origin "HEAD:refs/heads/$branch"
fi
