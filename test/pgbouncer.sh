# PgBouncer in transaction mode before the server that libpq's environment names.  Sourced by bash after lib.sh.
# shellcheck shell=bash
PGBOUNCER_JOB=''
PGBOUNCER_PID_FILE=''

# Listens on a socket in FOLDER, which it makes, on the server's port; returns once it answers.
pgbouncer_start() { # FOLDER USER POOL_SIZE
    mkdir -m 755 "$1"
    if is_root; then
        chmod 711 "$(dirname "$1")"
        chown "$SERVER_USER" "$1"
    fi
    PGBOUNCER_PID_FILE=$1/pid
    as_server_user tee "$1/pgbouncer.ini" >/dev/null <<INI
[databases]
* = host=$PGHOST port=$PGPORT
[pgbouncer]
listen_addr =
unix_socket_dir = $1
listen_port = $PGPORT
auth_type = trust
auth_file = $1/users
admin_users = $2
pool_mode = transaction
default_pool_size = $3
server_login_retry = 0
server_connect_timeout = 5
ignore_startup_parameters = extra_float_digits,options
pidfile = $PGBOUNCER_PID_FILE
INI
    as_server_user tee "$1/users" >/dev/null <<<"\"$2\" \"\""
    as_server_user "$(command -v pgbouncer || echo /usr/sbin/pgbouncer)" "$1/pgbouncer.ini" >"$1/out" 2>&1 &
    PGBOUNCER_JOB=$!
    for _ in {1..500}; do
        if PGHOST=$1 psql -XqAt -U "$2" -d pgbouncer -c 'SHOW VERSION' >/dev/null 2>&1; then return; fi
        sleep 0.02
    done
    cat "$1/out"
    die "pgbouncer did not start"
}

pgbouncer_stop() {
    if [ -z "$PGBOUNCER_JOB" ]; then return; fi
    if [ -f "$PGBOUNCER_PID_FILE" ]; then kill -INT "$(cat "$PGBOUNCER_PID_FILE")"; fi
    wait "$PGBOUNCER_JOB" || true
    PGBOUNCER_JOB=''
}
