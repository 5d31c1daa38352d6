# What the scripts of the tests and the demo share.  Sourced by bash.
# shellcheck shell=bash
set -euo pipefail
# Nothing of an outer make: our own calls say all they want.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
export PG_CONFIG=${PG_CONFIG:-pg_config}
# The operating-system user a server runs as when we are root: PostgreSQL refuses root.
SERVER_USER=${SERVER_USER:-postgres}
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() {
    echo "distlock: $*" >&2
    exit 1
}

is_root() { [ "$(id -u)" -eq 0 ]; }

# Runs a command as the server's user, in a folder that every user may enter.
as_server_user() {
    if is_root; then
        (cd / && exec runuser -u "$SERVER_USER" -- env HOME=/nonexistent "$@")
    else
        (cd / && exec "$@")
    fi
}

# Copies the sources as they are now, committed or not, without what builds and tests left behind.
copy_tree() { # DEST
    mkdir -p "$1"
    if [ -e "$TOP/.git" ]; then
        (cd "$TOP" && git -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
            while IFS= read -r -d '' file; do
                if [ -e "$file" ]; then printf '%s\0' "$file"; fi
            done | tar --null -T - -cf -) | tar -C "$1" -xf -
    else
        tar -C "$TOP" --exclude='*.o' --exclude='*.bc' --exclude='*.so' --exclude=./test/output -cf - . |
            tar -C "$1" -xf -
    fi
}

# A server built with LLVM wants bitcode, made by the clang it names; without that clang we leave it out.
llvm_option() {
    local clang
    clang=$(sed -n 's/^CLANG *= *//p' "$(dirname "$("$PG_CONFIG" --pgxs)")/../Makefile.global")
    command -v "${clang:-clang}" >/dev/null || echo with_llvm=no
}

# Builds in a folder and installs from there.  COPT in the environment adds compiler flags.
build_and_install() { # DIR
    local option as_installer=()
    option=$(llvm_option)
    make -s -C "$1" -j"$(nproc)" ${option:+"$option"} all
    if [ ! -w "$("$PG_CONFIG" --pkglibdir)" ]; then
        command -v sudo >/dev/null ||
            die "no right to write to $("$PG_CONFIG" --pkglibdir): run as root, or install sudo"
        as_installer=(sudo)
    fi
    "${as_installer[@]}" make -s -C "$1" ${option:+"$option"} PG_CONFIG="$PG_CONFIG" install
}
