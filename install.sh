#!/bin/sh
# Installs `interpreter` (and its short name `i`) for one user, on macOS, Linux and WSL. No root, no other tool than
# curl or wget, tar, and sha256sum, shasum or openssl. Run it again to upgrade; `--uninstall` takes everything away but your
# config and sessions.
set -eu

usage() {
  cat <<'TEXT'
usage: install.sh [--version X.Y.Z] [--from FILE.tar.gz] [--to DIR] [--uninstall [--purge]] [--help]

  --version X.Y.Z   that release instead of the newest
  --from FILE       a local archive, with its checksum in FILE.sha256 beside it
  --to DIR          the folder of the programs (default: ~/.local/bin)
  --uninstall       remove the programs; --purge also removes the config, sessions and history
  --help            this text

INTERPRETER_RELEASES names another place for the archives: what stands before /download/vX.Y.Z/.
TEXT
}

RELEASES=${INTERPRETER_RELEASES:-https://github.com/OpenInterpreter/open-interpreter/releases}
version='' archive='' bin='' uninstall='' purge='' scratch=''

say() { printf '%s\n' "$*"; }
fail() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
# shellcheck disable=SC2329 # called by the trap
clean() { [ -z "$scratch" ] || rm -rf "$scratch"; }
trap clean EXIT
trap 'exit 130' INT TERM HUP

while [ $# -gt 0 ]; do
  case $1 in
    --version | --from | --to) [ $# -gt 1 ] || fail "$1 needs a value; see --help" ;;
  esac
  case $1 in
    --version) version=${2#v}; shift ;;
    --from) archive=$2; shift ;;
    --to) bin=$2; shift ;;
    --uninstall) uninstall=1 ;;
    --purge) purge=1 ;;
    -h | --help) usage; exit 0 ;;
    *) fail "unknown argument '$1'; see --help" ;;
  esac
  shift
done
[ -n "${HOME:-}" ] || fail 'HOME is not set, so there is no folder to install into; set it, or pass --to DIR'
bin=${bin:-$HOME/.local/bin}
case $version in *[!0-9A-Za-z.+-]*) fail "'$version' is no version; write it like 1.2.3" ;; esac
[ -z "$purge" ] || [ -n "$uninstall" ] || fail '--purge goes with --uninstall'

# True for a link of ours, and for nothing else that happens to be called `i`.
ours() { [ -L "$bin/i" ] && [ "$(readlink "$bin/i")" = interpreter ]; }

if [ -n "$uninstall" ]; then
  if ours; then rm -f "$bin/i"; fi
  rm -f "$bin/interpreter"
  say "removed interpreter from $bin"
  data=${INTERPRETER_HOME:-$HOME/.openinterpreter}
  if [ -n "$purge" ]; then
    case $data in / | "$HOME" | "$HOME/") fail "INTERPRETER_HOME is '$data': that is not removed" ;; esac
    rm -rf "$data"
    say "removed $data"
  elif [ -d "$data" ]; then
    say "config and sessions stay in $data (--purge removes them)"
  fi
  exit 0
fi

target() {
  case $(uname -s) in
    Linux) system=unknown-linux-musl ;;
    Darwin) system=apple-darwin ;;
    MINGW* | MSYS* | CYGWIN*) fail 'this is Windows: run install.ps1 in PowerShell instead' ;;
    *) fail "no build for $(uname -s); with Rust, 'cargo install --path .' in the source builds one" ;;
  esac
  machine=$(uname -m)
  # A shell that runs under Rosetta says x86_64 on an Apple chip.
  if [ "$system" = apple-darwin ] && [ "$(sysctl -n hw.optional.arm64 2>/dev/null || true)" = 1 ]; then machine=arm64; fi
  case $machine in
    x86_64 | amd64) printf 'x86_64-%s' "$system" ;;
    arm64 | aarch64) printf 'aarch64-%s' "$system" ;;
    *) fail "no build for the processor $machine; with Rust, 'cargo install --path .' in the source builds one" ;;
  esac
}

fetch() { # URL FILE
  case $1 in https://* | file://* | http://127.0.0.1[:/]* | http://localhost[:/]*) ;; *) fail "$1 is not https" ;; esac
  if have curl; then
    curl -fsSL --retry 2 --connect-timeout 20 -o "$2" "$1"
  elif have wget; then
    wget -q -T 20 -O "$2" "$1"
  else
    fail 'neither curl nor wget is here; install one, or download the archive and pass --from FILE'
  fi || fail "could not download $1"
}

digest() {
  if have sha256sum; then sha256sum "$1"
  elif have shasum; then shasum -a 256 "$1"
  elif have openssl; then openssl dgst -sha256 -r "$1"
  else fail 'no sha256sum, shasum or openssl to check the download with'; fi | cut -d ' ' -f 1
}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/interpreter-install.XXXXXX")
if [ -z "$archive" ]; then
  here=$(target)
  if [ -z "$version" ]; then
    fetch "$RELEASES/latest/download/VERSION" "$scratch/VERSION"
    version=$(head -n 1 "$scratch/VERSION" | tr -d ' \r')
    case $version in '' | *[!0-9A-Za-z.+-]*) fail "$RELEASES does not say which version is the newest; pass --version" ;; esac
  fi
  archive=$scratch/interpreter-$version-$here.tar.gz
  url=$RELEASES/download/v$version/${archive##*/}
  say "downloading interpreter $version for $here"
  fetch "$url" "$archive"
  fetch "$url.sha256" "$archive.sha256"
fi
[ -f "$archive" ] || fail "$archive does not exist"
[ -f "$archive.sha256" ] || fail "$archive.sha256 is missing, so the archive cannot be checked"
wanted=$(head -n 1 "$archive.sha256" | cut -d ' ' -f 1)
found=$(digest "$archive")
[ -n "$wanted" ] && [ "$wanted" = "$found" ] || fail "the checksum of ${archive##*/} is $found and should be $wanted: it is damaged or not what was published; nothing was installed"

mkdir "$scratch/out"
tar -xzf "$archive" -C "$scratch/out" || fail "$archive cannot be unpacked"
new=$(find "$scratch/out" -type f -name interpreter | head -n 1)
[ -n "$new" ] || fail "there is no program 'interpreter' in $archive"
chmod 755 "$new"
told=$("$new" --version 2>&1) || fail "the program does not run here: $told"
if [ -n "$version" ]; then
  case " $told " in *" $version "*) ;; *) fail "the archive holds '$told', not version $version" ;; esac
fi

mkdir -p "$bin" || fail "$bin cannot be made; pass --to DIR"
# Beside the old one and renamed over it: a session that runs keeps its own file, and no half program is ever there.
cp "$new" "$bin/.interpreter.new.$$" && mv -f "$bin/.interpreter.new.$$" "$bin/interpreter" || {
  rm -f "$bin/.interpreter.new.$$"
  fail "$bin cannot be written; pass --to DIR"
}
short=''
if ours || { [ ! -e "$bin/i" ] && [ ! -L "$bin/i" ]; }; then
  ln -sf interpreter "$bin/i"
  short=' (and i)'
else
  say "$bin/i is another program: it stays, and 'interpreter' has no short name"
fi
say "$told is in $bin$short"
case ":${PATH:-}:" in
  *":$bin:"*) ;;
  *) say "$bin is not on your PATH: add   export PATH=\"$bin:\$PATH\"   to your shell's start file" ;;
esac
