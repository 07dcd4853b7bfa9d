#!/usr/bin/env bash
# Makes the .deb and the .tar.gz of this source and tries them; root also installs the .deb into a fresh Debian.
set -euo pipefail
cd "$(dirname "$0")/../.."

fail() { echo "packages.sh: $*" >&2; exit 1; }

cmake --workflow --preset tarball
cmake --workflow --preset deb

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tar -xzf build-static/attnlab-*.tar.gz -C "$scratch" --strip-components 1
libraries=$(ldd "$scratch/bin/attnlab" | awk '{ print $1 }' | grep -vE '^(linux-vdso|libc|libm|libpthread|/lib.*/ld-linux-x86-64)\.so' || true)
[[ -z $libraries ]] || fail "the program of the tarball needs more than glibc: $libraries"
(cd / && "$scratch/bin/attnlab" replay --check >/dev/null) || fail "the program of the tarball replays the lesson wrongly"
for file in README.md LICENSE share/man/man1/attnlab.1 share/bash-completion/completions/attnlab \
  share/zsh/site-functions/_attnlab share/fish/vendor_completions.d/attnlab.fish; do
  [[ -s $scratch/$file ]] || fail "the tarball lacks $file"
done
echo "tarball: needs only glibc and replays the lesson"

if command -v lintian >/dev/null; then
  # The authors have no address that mail reaches, and git holds what changed.
  lintian --allow-root --suppress-tags bogus-mail-host,no-changelog --fail-on error,warning build/attnlab_*.deb ||
    fail "lintian finds fault with the .deb"
fi
if ((EUID == 0)) && command -v debootstrap >/dev/null; then
  tests/package/fresh_debian.sh build/attnlab_*.deb
else
  echo "the .deb is not installed: that takes root and debootstrap"
fi
