#!/bin/sh
# Runs a test of the page with Node.js: run.sh SCRIPT BUILD_FOLDER. Exit status 77 says that it was skipped.
if ! command -v node >/dev/null; then
  echo "skipped: there is no Node.js"
  exit 77
fi
if ! [ -d "$2/web/node_modules/axe-core" ] || ! [ -f "$2/vega.bundle.js" ]; then
  echo "skipped: the npm packages of src/web are not in $2/web; build where npm can fetch them"
  exit 77
fi
exec node "$(dirname "$0")/$1" "$2"
