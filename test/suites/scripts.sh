# Runs test scripts, each beside a server of its own with the extension in its database.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/../cluster"

# A script prints "ok" and "not ok" lines; if it prints none, its exit status is its one result.
run_scripts() { # SCRIPT...
    local script name status
    for script; do
        if [ ! -x "$script" ]; then continue; fi
        name=$(basename "$script")
        echo "# $name"
        status=0
        (
            export CLUSTER_LOG=$OUTPUT/$name.server.log
            cluster_make
            cluster_start
            psql -XqAt -c 'CREATE EXTENSION distlock' || exit
            "$script"
        ) 2>&1 | tee "$OUTPUT/$name.out" || status=$?
        if ! grep -qE '^(not )?ok [-0-9]' "$OUTPUT/$name.out" && [ "$status" -eq 0 ]; then
            echo "ok - $name"
        elif [ "$status" -ne 0 ] && ! grep -qE '^not ok [-0-9]' "$OUTPUT/$name.out"; then
            echo "not ok - $name ended with status $status"
        fi
    done
}
