#!/usr/bin/env bash
# Installs a .deb of attnlab into a fresh Debian 12, runs it there and removes it: fresh_debian.sh FILE.deb
# Needs root, debootstrap, and the package source that apt on this machine uses.
set -euo pipefail

fail() { echo "fresh_debian.sh: $*" >&2; exit 1; }

package=$(realpath "$1")
mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
  awk '$2 == "bookworm" && $3 == "main" { print $1; exit }')
[[ -n $mirror ]] || fail "apt on this machine knows no bookworm main"

root=$(mktemp -d)
chmod 755 "$root"  # mandb reads it as a user of its own
trap 'rm -rf "$root"' EXIT
debootstrap --variant=minbase --include=man-db bookworm "$root" "$mirror" >"$root.log" || { tail "$root.log"; fail "no root"; }
rm "$root.log"
inside() { DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" "$@"; }

cp "$package" "$root/tmp/attnlab.deb"
# A minimal Debian leaves documentation out by its own choice; here it is what is looked for.
rm -f "$root"/etc/dpkg/dpkg.cfg.d/*
inside apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends /tmp/attnlab.deb >/dev/null
inside attnlab replay --check >/dev/null 2>&1 || fail "replay --check fails"
inside attnlab attention | grep -q 'rows sum to 1: True' || fail "attention fails"
inside attnlab --version
inside man --where attnlab attnlab-attention >/dev/null || fail "no manual page"
inside apt-get purge -y -qq -o Dpkg::Use-Pty=0 attnlab >/dev/null
left=$(cd "$root" && find . -path ./proc -prune -o -path ./tmp -prune -o -name '*attnlab*' -print)
[[ -z $left ]] || fail "left behind: $left"
echo "the .deb installs, runs and removes cleanly"
