# What the scripts here share.  Sourced by bash, beside a server with the extension.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
HERE=$TOP/test/orm
export PYTHON=/usr/bin/python3 # the one that the packages belong to

# The protected table afresh; from then on we are its application.
prepare() {
    PGUSER=postgres psql -XqAt -v ON_ERROR_STOP=1 -f "$HERE/schema.sql" >/dev/null
    export PGUSER=app
}

# The table of doc/clients.md, as that page makes it, and a row in it.
prepare_doc() {
    {
        echo "SET client_min_messages = warning; DROP TABLE IF EXISTS report;"
        sed -n '/^```sql$/,/^```$/ { /^```/!p }' "$TOP/doc/clients.md"
        echo "INSERT INTO report (id, fence) VALUES (1, distlock.try_acquire('report:1'));"
        echo "SELECT distlock.force_release(name, token) FROM distlock.locks;"
    } | PGUSER=postgres psql -XqAt -v ON_ERROR_STOP=1 >/dev/null
}

# Installs the packages of package-lock.json; without a registry there is nothing to test with.
node_packages() {
    local log
    if [ -d "$HERE/node_modules" ]; then return; fi
    if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
        skip "neither node nor npm is installed"
    fi
    log=$(mktemp)
    if npm ci --prefix "$HERE" --ignore-scripts --no-audit --no-fund --prefer-offline >"$log" 2>&1; then
        rm -f "$log"
        return
    fi
    rm -rf "$HERE/node_modules"
    tail -n 20 "$log"
    if grep -qE 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED' "$log"; then
        skip "npm reaches no registry"
    fi
    die "npm ci failed, see $log"
}

skip() {
    echo "ok 1 - $(basename "$0") # skip $*"
    exit 0
}
