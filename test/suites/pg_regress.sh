# Running pg_regress and its isolation twin.  Sourced by the suites regress and isolation.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/../cluster"

# Results as "ok" lines: servers up to 15 say "test NAME ... ok", later ones print such lines themselves.
as_ok_lines() {
    sed -uE -e 's/^test ([^ ]+) +\.\.\. ok.*/ok - \1/' -e 's/^test ([^ ]+) +\.\.\. (FAILED|failed).*/not ok - \1/' \
        -e '/^(make|=+|\+\+\+)/d' -e '/^(SET|(CREATE|ALTER|DROP) (DATABASE|EXTENSION))$/d'
}

# installcheck WHERE-RESULTS-ARE VARIABLE...: runs it with these make variables, and shows what differs.
installcheck() {
    local results=$1 status=0
    shift
    make -s -C "$TOP" installcheck TAP_TESTS= "$@" 2>&1 | as_ok_lines || status=$?
    if [ -s "$results/regression.diffs" ]; then cat "$results/regression.diffs"; fi
    cp -r "$results"/regression.* "$results/results" "$OUTPUT/" 2>/dev/null || true
    return "$status"
}
