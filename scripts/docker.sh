#!/bin/sh
# A private Docker daemon for tests and benchmarks: own socket, own data, no network; and the images that tests use.
#
#   scripts/docker.sh start  [dir [flag…]]  start it (again), wait until it answers, print its address
#   scripts/docker.sh run    [dir [flag…]]  the same, until stdin closes; then as `stop`
#   scripts/docker.sh stop   [dir]          end it with its containers, unmount, delete its folder
#   scripts/docker.sh url    [dir]          print its address; fails when it does not run
#   scripts/docker.sh status [dir]          say in words whether it runs
#
# dir is $WARREN_SERVICES_DIR/docker, or .services/docker in the repository. Flags go to dockerd. stdout has the
# address and nothing else. It needs root, as every Docker daemon does, and no registry:
#
#   warren-test:busybox  Debian's busybox-static, with its applets as links
#   warren-test:empty    nothing but an empty directory
#   warren-test:links    /dev/null and /dev/console as links to other places
set -eu

repository=$(cd "$(dirname "$0")/.." && pwd)
verb=${1:-}
dir=${2:-${WARREN_SERVICES_DIR:-$repository/.services}/docker}
[ $# -le 2 ] || { shift 2; flags=$*; }

say() { printf '%s\n' "$*" >&2; }
fail() { say "docker.sh: $*"; exit 1; }

require() { # PROGRAM PACKAGE
    command -v "$1" >/dev/null || fail "$1 is not installed. Install the Debian package $2: apt-get install $2"
}

check_host() {
    PATH=$PATH:/usr/sbin:/sbin
    require dockerd docker.io
    require docker docker.io
    require busybox busybox-static
    [ "$(id -u)" -eq 0 ] || fail "a Docker daemon needs root; as another user set WARREN_TEST_DOCKER to one that runs"
    [ -d /sys/fs/cgroup ] && [ -n "$(ls /sys/fs/cgroup)" ] || fail "no control groups are mounted at /sys/fs/cgroup"
}

number() { printf '%s' "$dir" | cksum | cut -d' ' -f1; }

# The path of a unix socket may have 107 bytes, and containerd puts sockets deep below its folder.
runtime_folder() {
    if [ ${#dir} -le 60 ]; then printf '%s/run' "$dir"; else printf '%s/warren-docker-%s' "${TMPDIR:-/tmp}" "$(number)"; fi
}

# One parent for all containers: what is left in it after the daemon's death is ours.
control_group() { printf 'warren-docker-%s' "$(number)"; }

address() { printf 'unix://%s/docker.sock' "$(runtime_folder)"; }

client() { DOCKER_CONFIG=$dir/client docker --host "$(address)" "$@"; }

daemon_pid() { cat "$(runtime_folder)/dockerd.pid" 2>/dev/null || true; }

# A pid file may outlive its daemon, and its number may be somebody else's by now, or that of a dead process which
# nobody has asked after yet.
is_running() { # PID NAME
    [ -n "$1" ] && [ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}
runs() { is_running "$(daemon_pid)" dockerd; }
answers() { client version >/dev/null 2>&1; }

# Both daemons take the number of a dead process for a living one, and refuse to start or wait for it.
forget_dead() { # PID_FILE NAME
    [ ! -f "$1" ] || is_running "$(cat "$1")" "$2" || rm -f "$1"
}

launch() { # STORAGE_DRIVER
    run=$(runtime_folder)
    mkdir -p "$dir/data" "$dir/client" "$run" && chmod 700 "$dir" "$run"
    [ -f "$dir/daemon.json" ] || echo '{}' >"$dir/daemon.json"
    forget_dead "$run/dockerd.pid" dockerd
    forget_dead "$run/exec/containerd/containerd.pid" containerd
    # Some versions write a key that nothing uses to the system's folder.
    key=/etc/docker/key.json
    [ ! -e $key ] || key=''
    # Nothing of the caller's environment, no network of its own, and no terminal: Ctrl-C is for the script.
    env -i PATH="$PATH" HOME="$dir/client" TMPDIR="$dir" setsid dockerd \
        --config-file "$dir/daemon.json" --storage-driver="$1" --data-root "$dir/data" --exec-root "$run/exec" \
        --host "$(address)" --pidfile "$run/dockerd.pid" --exec-opt native.cgroupdriver=cgroupfs \
        --cgroup-parent "/$(control_group)" --bridge=none --iptables=false --ip6tables=false ${flags:-} \
        >>"$dir/dockerd.log" 2>&1 </dev/null &
    launched=$!
    tries=0
    until answers; do
        tries=$((tries + 1))
        if [ "$tries" -ge 300 ] || ! kill -0 "$launched" 2>/dev/null; then return 1; fi
        sleep 0.1
    done
    [ -z "$key" ] || rm -f "$key"
}

has_image() { client image inspect "warren-test:$1" >/dev/null 2>&1; }

make_images() {
    root=$dir/images
    rm -rf "$root"
    if ! has_image busybox; then
        mkdir -p "$root/busybox/bin" "$root/busybox/etc" "$root/busybox/usr" "$root/busybox/tmp" "$root/busybox/root"
        cp "$(command -v busybox)" "$root/busybox/bin/busybox"
        chroot "$root/busybox" /bin/busybox true ||
            fail "busybox is not static. Install the Debian package busybox-static: apt-get install busybox-static"
        for applet in $(busybox --list); do
            [ "$applet" = busybox ] || ln -s busybox "$root/busybox/bin/$applet"
        done
        ln -s ../bin "$root/busybox/usr/bin"
        chmod 1777 "$root/busybox/tmp"
        echo 'root:x:0:0:root:/root:/bin/sh' >"$root/busybox/etc/passwd"
        echo 'root:x:0:' >"$root/busybox/etc/group"
        import busybox
    fi
    if ! has_image empty; then
        mkdir -p "$root/empty/empty"
        import empty
    fi
    if ! has_image links; then
        mkdir -p "$root/links/dev"
        ln -s /proc/sys/kernel/core_pattern "$root/links/dev/null"
        ln -s /proc/sysrq-trigger "$root/links/dev/console"
        import links
    fi
    rm -rf "$root"
}

import() { # NAME
    tar -C "$root/$1" -c . | client import - "warren-test:$1" >/dev/null || fail "the image warren-test:$1 cannot be made"
}

does_not_start() {
    tail -n 20 "$dir/dockerd.log" >&2
    fail "the Docker daemon does not start"
}

start() {
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    if ! runs || ! answers; then
        if [ -s "$dir/driver" ]; then
            launch "$(cat "$dir/driver")" || does_not_start
        elif launch overlay2; then
            echo overlay2 >"$dir/driver"
        else
            end_processes
            say "docker.sh: the storage driver overlay2 does not work here; trying vfs"
            launch vfs || does_not_start
            echo vfs >"$dir/driver"
        fi
    fi
    make_images
}

# Asks, then insists. Waits for the end.
end_process() { # PID NAME SIGNAL TENTHS
    is_running "$1" "$2" || return 0
    kill "-$3" "$1" 2>/dev/null || return 0
    tries=0
    while is_running "$1" "$2"; do
        tries=$((tries + 1))
        [ "$tries" -lt "$4" ] || return 1
        sleep 0.1
    done
}

# Processes whose command line names our runtime folder, by name: shims, which are nobody's children.
named_after_us() { # NAME
    for entry in /proc/[0-9]*; do
        [ "$(cat "$entry/comm" 2>/dev/null)" = "$1" ] || continue
        if tr '\0' '\n' <"$entry/cmdline" 2>/dev/null | grep -q -F "$(runtime_folder)/"; then echo "${entry#/proc/}"; fi
    done
}

groups() { find /sys/fs/cgroup -depth -type d -path "*/$(control_group)*" 2>/dev/null || true; }

end_processes() {
    run=$(runtime_folder)
    end_process "$(daemon_pid)" dockerd TERM 200 || end_process "$(daemon_pid)" dockerd KILL 100 || true
    for pid in $(named_after_us containerd); do end_process "$pid" containerd KILL 100 || true; done
    for pid in $(named_after_us containerd-shim); do end_process "$pid" containerd-shim KILL 100 || true; done
    tries=0
    while [ "$tries" -lt 50 ]; do
        left=$(groups | while read -r group; do cat "$group/cgroup.procs" 2>/dev/null || true; done | sort -u)
        [ -n "$left" ] || break
        # shellcheck disable=SC2086 # one word per process
        kill -KILL $left 2>/dev/null || true
        tries=$((tries + 1))
        sleep 0.1
    done
    groups | while read -r group; do rmdir "$group" 2>/dev/null || true; done
    # A killed shim leaves its socket where all shims of the host have theirs.
    find "$run/exec" -name address -type f 2>/dev/null | while read -r file; do
        socket=$(sed -n 's,^unix://\(/run/containerd/s/[0-9a-f]*\)$,\1,p' "$file")
        [ -z "$socket" ] || rm -f "$socket"
    done
}

# Deepest first. The kernel writes a space as \040.
unmount() {
    for folder in "$dir" "$(runtime_folder)"; do
        awk -v folder="$folder/" 'index($5, folder) == 1 { print $5 }' /proc/self/mountinfo | sort -r |
            while read -r point; do umount -l "$(printf '%b' "$point")" 2>/dev/null || true; done
    done
}

stop() {
    # Only what this script made.
    [ -f "$dir/daemon.json" ] || return 0
    if runs && answers; then
        left=$(client ps --all --quiet)
        # shellcheck disable=SC2086 # one word per container
        [ -z "$left" ] || client rm --force $left >/dev/null 2>&1 || true
    fi
    end_processes
    unmount
    rm -rf "$(runtime_folder)" "$dir"
    rmdir "$repository/.services" 2>/dev/null || true
}

case $verb in
start | run | url | status) check_host ;;
stop) [ ! -f "$dir/daemon.json" ] || check_host ;;
*)
    sed -n '2,16s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
[ ! -d "$dir" ] || dir=$(cd "$dir" && pwd)

case $verb in
start)
    start
    printf '%s\n' "$(address)"
    ;;
run)
    # A second Ctrl-C must not cut the cleaning short.
    trap 'trap "" HUP INT TERM; stop' EXIT
    trap 'exit 143' HUP INT TERM
    start
    printf '%s\n' "$(address)"
    exec >/dev/null
    while read -r _; do :; done
    ;;
stop) stop ;;
url)
    runs || fail "no Docker daemon runs in $dir: start it with scripts/docker.sh start"
    printf '%s\n' "$(address)"
    ;;
status)
    if runs; then say "running: $(address)"; else say "not running"; exit 3; fi
    ;;
esac
