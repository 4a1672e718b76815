#!/bin/sh
# A private PostgreSQL for tests and benchmarks: own port, own data folder, fsync on.
#
#   scripts/postgres.sh start  [dir]   start it (again), wait until it answers, print its URL
#   scripts/postgres.sh run    [dir]   the same, until stdin closes; then as `stop`
#   scripts/postgres.sh halt   [dir]   stop it and keep its data and port
#   scripts/postgres.sh stop   [dir]   stop it and delete its folder
#   scripts/postgres.sh url    [dir]   print its URL; fails when it does not run
#   scripts/postgres.sh status [dir]   say in words whether it runs
#
# dir is $WARREN_SERVICES_DIR/postgres, or .services/postgres in the repository. stdout has the URL and nothing
# else. As root it runs as the user `postgres`, since PostgreSQL refuses to run as root.
set -eu

repository=$(cd "$(dirname "$0")/.." && pwd)
verb=${1:-}
dir=${2:-${WARREN_SERVICES_DIR:-$repository/.services}/postgres}
user=warren

say() { printf '%s\n' "$*" >&2; }
fail() { say "postgres.sh: $*"; exit 1; }

find_binaries() {
    for candidate in /usr/lib/postgresql/*/bin /usr/local/pgsql/bin; do
        [ -x "$candidate/postgres" ] && [ -x "$candidate/initdb" ] && binaries=$candidate
    done
    if [ -z "${binaries:-}" ]; then
        fail "PostgreSQL is not installed. Install the Debian package postgresql: apt-get install postgresql"
    fi
}

# Runs a command as the user the server runs as.
as_server() {
    if [ "$(id -u)" -eq 0 ]; then
        (cd / && exec setpriv --reuid=postgres --regid=postgres --init-groups -- "$@")
    else
        "$@"
    fi
}

make_folder() {
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    if [ "$(id -u)" -eq 0 ]; then
        chown postgres:postgres "$dir"
        as_server test -x "$dir" || fail "the user postgres cannot enter $dir: use a folder whose parents others may enter (WARREN_SERVICES_DIR)"
    fi
    chmod 700 "$dir"
}

# The path of a unix socket may have 107 bytes.
socket_folder() {
    if [ ${#dir} -le 80 ]; then
        printf '%s' "$dir"
    else
        printf '%s/warren-postgres-%s' "${TMPDIR:-/tmp}" "$(printf '%s' "$dir" | cksum | cut -d' ' -f1)"
    fi
}

url() { printf 'postgres://%s@127.0.0.1:%s/postgres' "$user" "$(cat "$dir/port")"; }

runs() { [ -d "$dir/data" ] && as_server "$binaries/pg_ctl" -D "$dir/data" status >/dev/null 2>&1; }

answers() { as_server "$binaries/pg_isready" -q -h 127.0.0.1 -p "$(cat "$dir/port")" -U "$user" -d postgres; }

create() {
    rm -rf "$dir/data" "$dir/data.new"
    # Built beside and moved into place, so that an interrupted start leaves nothing half-made.
    as_server "$binaries/initdb" -D "$dir/data.new" -U "$user" --auth=trust --encoding=UTF8 --locale=C --no-sync \
        >"$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log" >&2; fail "initdb failed"; }
    mv "$dir/data.new" "$dir/data"
}

launch() {
    sockets=$(socket_folder)
    as_server mkdir -p "$sockets"
    as_server "$binaries/pg_ctl" -D "$dir/data" -l "$dir/server.log" -w -t 60 -s start -o "\
        -c port=$1 -c listen_addresses=127.0.0.1 -c unix_socket_directories='$sockets' -c fsync=on \
        -c max_connections=300 -c shared_buffers=64MB -c max_wal_size=1GB" >/dev/null 2>&1
}

# Picks a port that is free now; another process may take it first, so that a failed start tries others.
start_on_some_port() {
    attempt=0
    while [ "$attempt" -lt 20 ]; do
        attempt=$((attempt + 1))
        port=$((20000 + ($$ * 7 + $(date +%N | sed 's/^0*//;s/^$/0/') + attempt * 977) % 12000))
        if launch "$port"; then
            printf '%s\n' "$port" >"$dir/port"
            return 0
        fi
        grep -q 'could not bind\|Address already in use\|lock file' "$dir/server.log" || break
    done
    cat "$dir/server.log" >&2
    fail "PostgreSQL does not start"
}

start() {
    make_folder
    if ! runs; then
        [ -f "$dir/data/PG_VERSION" ] || create
        if [ -s "$dir/port" ]; then
            launch "$(cat "$dir/port")" || start_on_some_port
        else
            start_on_some_port
        fi
    fi
    tries=0
    until answers; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || fail "PostgreSQL runs but does not answer; see $dir/server.log"
        sleep 0.1
    done
}

halt() {
    if runs; then
        as_server "$binaries/pg_ctl" -D "$dir/data" -m fast -w -t 60 -s stop >/dev/null 2>&1 ||
            fail "PostgreSQL does not stop; see $dir/server.log"
    fi
}

stop() {
    halt
    sockets=$(socket_folder)
    [ "$sockets" = "$dir" ] || rm -rf "$sockets"
    # Only what this script made.
    if [ -d "$dir/data" ] || [ -f "$dir/port" ]; then rm -rf "$dir"; fi
    rmdir "$repository/.services" 2>/dev/null || true
}

case $verb in
start | run | halt | stop | url | status) find_binaries ;;
*)
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
[ ! -d "$dir" ] || dir=$(cd "$dir" && pwd)

case $verb in
start)
    start
    printf '%s\n' "$(url)"
    ;;
run)
    trap 'stop' EXIT
    trap 'exit 143' HUP INT TERM
    start
    printf '%s\n' "$(url)"
    exec >/dev/null
    while read -r _; do :; done
    ;;
halt) halt ;;
stop) stop ;;
url)
    runs || fail "no PostgreSQL runs in $dir: start it with scripts/postgres.sh start"
    printf '%s\n' "$(url)"
    ;;
status)
    if runs; then say "running: $(url)"; else say "not running"; exit 3; fi
    ;;
esac
