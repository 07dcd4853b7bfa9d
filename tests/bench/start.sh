#!/usr/bin/env bash
# attnlab against the same computation in NumPy, whole processes: start.sh [path of attnlab]. Needs python3-numpy.
for python in python3 /usr/bin/python3; do
  "$python" -c 'import numpy' 2>/dev/null && exec "$python" "$(dirname "$0")/start.py" "$@"
done
echo "start.sh: no NumPy: apt-get install python3-numpy" >&2
exit 1
