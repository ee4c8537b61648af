#!/bin/sh
# Checks the subjects of all commits in a range with the hook commit-msg: scripts/commit-subjects.sh main..HEAD
# Exits with 1 if the hook rejects a subject. Merge commits are skipped.
set -eu
hook=$(dirname "$0")/hooks/commit-msg
commits=$(git rev-list --reverse --no-merges "${1:?expected a range such as main..HEAD}" --)
message=$(mktemp)
trap 'rm -f "$message"' EXIT

status=0
for commit in $commits; do
  git show --no-patch --format=%B "$commit" >"$message"
  "$hook" "$message" || {
    printf '  Commit: %s\n' "$commit" >&2
    status=1
  }
done
exit $status
