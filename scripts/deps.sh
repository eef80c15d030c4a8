#!/bin/sh
# Installs the Debian or Ubuntu packages named as arguments that are missing. Does nothing, and needs no
# rights, when everything is there.
set -eu

missing=""
for package in "$@"; do
  state=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [ "$state" = "install ok installed" ] || missing="$missing $package"
done
command -v "${CXX:-c++}" >/dev/null 2>&1 || missing="$missing g++"
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
  # Not Debian or Ubuntu: CMake will say which of them it cannot find.
  echo "make: apt-get is not here, so these were not installed (Debian names):$missing" >&2
  echo "make: install them with your system's package manager; going on" >&2
  exit 0
fi
if [ "$(id -u)" = 0 ]; then
  run=""
elif command -v sudo >/dev/null 2>&1; then
  run="sudo"
else
  echo "make: these packages are missing and there is neither root nor sudo to install them:$missing" >&2
  echo "make: ask an administrator to run: apt-get install$missing" >&2
  exit 1
fi
echo "make: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
install() { $run apt-get install -y -q --no-install-recommends $missing >"$log" 2>&1; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Package lists may be absent (containers) or stale: refresh them once if the first attempt fails.
if ! install; then
  $run apt-get update -q >>"$log" 2>&1 || true
  if ! install; then
    cat "$log" >&2
    echo "make: apt-get could not install:$missing" >&2
    exit 1
  fi
fi
