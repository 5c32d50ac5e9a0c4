#!/bin/sh
# testpmd.sh [seconds] [cpu,cpu]: what DPDK's own testpmd forwards over ring ports on this machine.
#
# Two net_ring ports, each a ring that loops back to itself, and io forwarding on two lcores: one
# moves port 0's frames to port 1, the other port 1's to port 0. So every frame crosses between the
# two CPUs on every hop, as in roofline, but nobody writes, reads, copies or sums it. 512 frames of 64
# bytes circulate in bursts of 32. (With one forwarding core,
# testpmd's default, the rings never leave that core's L1: a figure that says nothing about two.)
#
# Prints
#   testpmd.cores P      % of two CPUs that testpmd had; below 98 other programs disturbed it
#   testpmd.pps.total Y  frames per second that both lcores moved together
#   testpmd.pps X        frames per second in one direction (mean over the two ports of Rx-pps)
set -eu

seconds=${1:-5}
cpus=${2:-0,1}
testpmd=${TESTPMD:-dpdk-testpmd}
a=${cpus%,*} b=${cpus#*,}

command -v "$testpmd" >/dev/null || {
	echo "testpmd.sh: no $testpmd here (Debian: apt-get install dpdk-dev)" >&2
	exit 1
}

dir=$(mktemp -d)
pid=
stop() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || true
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT TERM

# Lcore 0 only reads commands and sleeps; the other two forward.
mkfifo "$dir/commands"
"$testpmd" --no-huge --no-shconf --no-pci --no-telemetry -m 256 --log-level error \
	--lcores "0@($a,$b),1@$a,2@$b" --main-lcore 0 --vdev net_ring0 --vdev net_ring1 \
	-- -i --forward-mode=io --nb-cores=2 --total-num-mbufs=4096 --burst=32 --txpkts=64 \
	<"$dir/commands" >"$dir/out" 2>&1 &
pid=$!
exec 3>"$dir/commands"

# ns that the two forwarding threads have had a CPU
used() {
	for t in "/proc/$pid/task/"*; do
		case $(cat "$t/comm") in lcore-worker-* | rte-worker-*) cat "$t/schedstat" ;; esac
	done | awk '{ ns += $1 } END { printf "%d\n", ns }'
}

# "show port stats" gives the rates since it was last asked: the first answer ends the warm-up, the
# second is the measurement.
i=0
until grep -q '^testpmd> ' "$dir/out"; do
	i=$((i + 1))
	if [ $i -gt 100 ] || ! kill -0 "$pid" 2>/dev/null; then
		cat "$dir/out" >&2
		exit 1
	fi
	sleep 0.1
done
echo "start tx_first 8" >&3
sleep 0.5
echo "show port stats all" >&3
t0=$(date +%s%N) u0=$(used)
sleep "$seconds"
echo "show port stats all" >&3
t1=$(date +%s%N) u1=$(used)
sleep 0.2
echo stop >&3
echo quit >&3
exec 3>&-
wait "$pid"
pid=

awk -v share="$(((u1 - u0) * 1000 / (t1 - t0) / 2))" '
	/NIC statistics for port/ { shows[port = $6]++ }
	/Rx-pps:/ && shows[port] == 2 { total += $2; ports++ }
	END {
		if (ports != 2 || total == 0) { print "testpmd.sh: no rates in its output" > "/dev/stderr"; exit 1 }
		printf "testpmd.cores %.1f %%\n", share / 10
		printf "testpmd.pps.total %.4ge6 pps\ntestpmd.pps %.4ge6 pps\n", total / 1e6, total / 2 / 1e6
	}' "$dir/out"
