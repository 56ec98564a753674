#!/bin/sh
# Renders the example next to this script and says what came out: examples/demo.sh PATH-OF-PACKWISE
set -eu
packwise=$1
input=examples/disaggregated-inference
output=build/demo

rm -rf "$output"
mkdir -p "$(dirname "$output")"
echo "\$ packwise render $input -o $output"
"$packwise" render "$input" -o "$output"

echo
echo "packwise read $input:"
echo "  topology.yaml    the cluster's topology levels: zone, block, rack, host"
echo "  inference.yaml   a multi-node prefill/decode workload (a PodCliqueSet) with topology constraints"
echo "and wrote $output:"
find "$output" -type f ! -name '.*' | LC_ALL=C sort | while read -r file; do
  kinds=$(sed -n 's/^kind: *//p' "$file" | LC_ALL=C sort | uniq -c | awk '{printf "%s%s %s", sep, $1, $2; sep = ", "}')
  echo "  $file: $kinds"
done
echo
echo "Your own files come back as they are, comments and all, but for annotations that packwise adds to workloads:"
diff -r -U 1 "$input" "$output" | sed -n '/^Only in/d; /^diff /d; p' || true
echo
echo "The gang of the whole workload, as the scheduler is told:"
find "$output" -type f -exec grep -l '^kind: PodGang' {} + | LC_ALL=C sort -r | head -n 1 | while read -r file; do
  echo "  $file"
  sed -n '/^spec:/,$p' "$file" | sed 's/^/    /'
done
