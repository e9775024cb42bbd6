#!/bin/sh
# Fetches the charting library of the report and the dashboard from npm and keeps its build and its licence.
set -eu
version=${1:-6.1.0}
target=$(cd "$(dirname "$0")/.." && pwd)/src/evoengineer/report/assets/vendor/echarts
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm pack --silent "echarts@$version" >/dev/null
tar xzf echarts-*.tgz
cp package/dist/echarts.common.min.js package/LICENSE package/NOTICE "$target/"
echo "echarts $version from npm, dist/echarts.common.min.js as published: scripts/vendor.sh fetches it again" >"$target/VERSION"
