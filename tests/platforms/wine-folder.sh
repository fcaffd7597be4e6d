#!/bin/sh
# Makes a folder in which Wine keeps a Windows for tests, unless it is there: wine-folder.sh LOADER FOLDER
set -eu
export WINEDEBUG=-all WINEPREFIX="$2"
mkdir -p "$WINEPREFIX"
[ -e "$WINEPREFIX/system.reg" ] || "$1" wineboot --init >/dev/null 2>&1
# Wine before 9.0 lacks a library of Windows 10 that Rust's standard library loads.
library="$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll"
[ -e "$library" ] || x86_64-w64-mingw32-gcc -shared -O1 -o "$library" "$(dirname "$0")/bcryptprimitives.c" -ladvapi32
