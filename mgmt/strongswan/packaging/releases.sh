# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# The releases of Debian that charon's plugin has packages for, and a root of each. For build.sh.

# Debian's own numbers of the releases, which order the packages' versions.
declare -A numbers=([bookworm]=12 [trixie]=13 [forky]=14)
# LoongArch came with testing.
declare -A architectures=([bookworm]="amd64 arm64" [trixie]="amd64 arm64" [forky]="amd64 arm64 loong64")
declare -A triplets=([amd64]=x86_64-linux-gnu [arm64]=aarch64-linux-gnu [loong64]=loongarch64-linux-gnu)

# Puts a release into a folder, with a compiler for each architecture, unless it is there.
make_root() {
  local release=$1 root=$2 own arch sources packages=gcc,libc6-dev,make,pkg-config,libjson-c-dev,bzip2,xz-utils,dpkg-dev
  [ ! -e "$root" ] || return 0
  for arch in ${architectures[$release]}; do
    [ "$arch" = "$native" ] || packages+=,gcc-${triplets[$arch]//_/-},libc6-dev:$arch,libjson-c-dev:$arch
  done
  # This machine's repositories of Debian, with the other release for its own.
  own=$(. /etc/os-release && echo "$VERSION_CODENAME")
  sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) main $(ORIGIN)' 'Created-By: Packages' |
    sed -n "s/ $own\(.*\) Debian$/ $release\1/p" | sort -u)
  [ -n "$sources" ] || fail "apt-get knows no repository of Debian here: run apt-get update"
  rm -rf "$root.part"
  mkdir -p "$(dirname "$root")"
  echo "Debian $release into $root" >&2
  mmdebstrap --quiet --variant=apt --skip=cleanup/apt/lists --architectures="$native,$(others "$release")" \
    --aptopt="$(apt-config dump Acquire::Check-Valid-Until)" --include="$packages" "$release" "$root.part" - <<<"$sources" ||
    fail "Debian $release cannot be had: see the lines above"
  mv "$root.part" "$root"
}

# The other architectures of a release, with commas.
others() {
  local arch names=()
  for arch in ${architectures[$1]}; do [ "$arch" = "$native" ] || names+=("$arch"); done
  (IFS=, && echo "${names[*]}")
}
