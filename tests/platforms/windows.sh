#!/bin/sh
# Builds the binary for Windows and tests it in Wine: black-box tests of this repository run the binary, and the tests of
# some crates run as Windows programs. tests/support/windows.rs lists the cases that cannot run there, with the reasons.
#
#     tests/platforms/windows.sh [--skip] [TEST…]
#
# --skip: succeed if gcc-mingw-w64-x86-64 or wine64 is missing. TEST: names of black-box tests to run, instead of those
# that are known to pass. `cases::` runs the cases. Some of them still fail, since texts differ, such as the name of the
# program and the error messages of the system.
set -eu
cd "$(dirname "$0")/../.."

missing=1
if [ "${1:-}" = --skip ]; then
    missing=0
    shift
fi
[ $# -gt 0 ] || set -- unconfined:: on_windows::

WINELOADER=${WINELOADER:-$(command -v /usr/lib/wine/wine64 wine64 wine 2>/dev/null | head -n 1 || true)}
for program in x86_64-w64-mingw32-gcc "${WINELOADER:-wine64}"; do
    if ! command -v "$program" >/dev/null; then
        echo "windows.sh: $program is missing: the binary of Windows was not tested. On Debian: apt-get install gcc-mingw-w64-x86-64 wine64" >&2
        exit $missing
    fi
done

target=x86_64-pc-windows-gnu
rustup target list --installed 2>/dev/null | grep -qx $target || rustup target add $target
folder=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export WINELOADER WINEDEBUG=-all WINEPREFIX="$folder/wine"
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER="$WINELOADER"

tests/platforms/wine-folder.sh "$WINELOADER" "$WINEPREFIX"

cargo build --target $target --bin portcullis --example stand-in
# Tests of crates, as Windows programs: confined children, and upstream servers with the processes that they leave behind.
# One test is skipped: a thousand requests at once take longer than its limit of a minute in Wine.
cargo test --target $target --test escape --test left_behind --test starting --test session --test bounds -- \
    --skip the_number_of_requests_in_flight_is_bounded

programs="$folder/wine-programs"
mkdir -p "$programs"
cp "$folder/$target/debug/portcullis.exe" "$folder/$target/debug/examples/stand-in.exe" "$programs"
x86_64-w64-mingw32-gcc -municode -O1 -o "$programs/with-environment.exe" tests/platforms/with-environment.c

# Keeps the server of Wine running, so that programs start faster.
"$(dirname "$WINELOADER")/wineserver" -p >/dev/null 2>&1 || true
PORTCULLIS_WINDOWS="$programs" cargo test --test blackbox -- --include-ignored --test-threads 2 "$@"
