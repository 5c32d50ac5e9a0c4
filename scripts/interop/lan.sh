# shellcheck shell=bash
# The network of the interop tests and its hosts; the commands beside this file source it.
#
#     namespace $namespace, on the host:   eth0 ── br0 ── tap-a ── guest a
#                                                     └── tap-b ── guest b
#
# The namespace holds all links and processes, so that the host's own network does not change, names
# cannot collide, and removing the namespace removes everything.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${here%/scripts/interop}
cache=$root/.cache/interop
# shellcheck disable=SC2034  # used by scripts that source this
{
    image=$cache/image # vmlinuz, initrd.img and key: built once
    run=$cache/run     # what the guests that are up have written
}
# One for each checkout.
namespace=goroce-interop-$(printf %s "$root" | cksum | cut -d ' ' -f 1)

say() { echo "interop: $*" >&2; }
die() { say "$@"; exit 1; }

need_root() { ((EUID == 0)) || die "needs root, for a network namespace and taps"; }

# locked excludes other ups and downs of this checkout until the script ends. A process that outlives
# it must not inherit descriptor 9.
locked() {
    mkdir -p "$cache"
    exec 9>"$cache/lock"
    flock -w 300 9 || die "another up or down is running: $cache/lock"
}

# number prints the number of guest a or b in its addresses: 198.18.0.1, fd18::1; 198.18.0.2, ...
number() {
    case $1 in
    a) echo 1 ;;
    b) echo 2 ;;
    *) die "unknown guest '$1', want a or b" ;;
    esac
}

processes() { ip netns pids "$namespace" 2>/dev/null || true; }

# is_up GUEST succeeds if its process exists and is ours.
is_up() {
    local pid
    pid=$(cat "$run/$1.pid" 2>/dev/null) && processes | grep -qx "$pid"
}

# switch MTU makes the namespace, its switch and the host's end.
switch() {
    local ip=(ip -n "$namespace") link
    ip netns add "$namespace"
    "${ip[@]}" link set lo up
    "${ip[@]}" link add br0 mtu "$1" type bridge mcast_snooping 0
    "${ip[@]}" link add eth0 mtu "$1" type veth peer name eth0-br mtu "$1"
    "${ip[@]}" link set eth0-br master br0
    for link in br0 eth0-br; do
        "${ip[@]}" link set "$link" addrgenmode none # a switch has no addresses
        "${ip[@]}" link set "$link" up
    done
    # No segmentation or checksum offload: a frame on the wire is what was sent, and complete.
    ip netns exec "$namespace" ethtool -K eth0 tx off rx off gso off gro off tso off >/dev/null
    "${ip[@]}" addr add 198.18.0.254/24 dev eth0
    "${ip[@]}" addr add fd18::254/64 dev eth0 nodad
    "${ip[@]}" link set eth0 up
}

# plug GUEST MTU adds the tap of a guest to the switch.
plug() {
    local ip=(ip -n "$namespace")
    "${ip[@]}" link del "tap-$1" 2>/dev/null || true # a guest that died leaves its tap
    "${ip[@]}" tuntap add dev "tap-$1" mode tap
    # An emulated guest is slow, and packets beyond the tap's queue are lost: the default of 500
    # packets is less than one message of 1 MiB.
    "${ip[@]}" link set "tap-$1" mtu "$2" txqueuelen 5000 addrgenmode none master br0
    "${ip[@]}" link set "tap-$1" up
}

# take_down ends every process in the namespace by its id, then the namespace with every link.
take_down() {
    local signal pids
    for signal in TERM KILL; do
        mapfile -t pids < <(processes)
        ((${#pids[@]} > 0)) || break
        kill "-$signal" "${pids[@]}" 2>/dev/null || true
        for _ in {1..50}; do
            [[ -n $(processes) ]] || break
            sleep 0.1
        done
    done
    if [[ -e /run/netns/$namespace ]]; then
        ip netns del "$namespace"
    fi
    rm -rf "$run"
}
