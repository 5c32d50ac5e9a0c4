package matrix

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

func TestExists(t *testing.T) {
	cell := func(test Test, s Service, size units.Bytes, mtu units.Bytes, qps int) Cell {
		return Cell{Test: test, Role: Client, Service: s, IP: IPv4, Size: size, MTU: mtu, QPs: qps}
	}
	for _, c := range []struct {
		cell Cell
		want bool
	}{
		{cell(SendBW, UD, 4096, 4096, 128), true},
		{cell(SendBW, UD, 4096, 1024, 1), false},
		{cell(WriteLat, UC, units.MiB, 256, 1), true},
		{cell(WriteBW, UD, 64, 1024, 1), false},
		{cell(ReadBW, UC, 64, 1024, 1), false},
		{cell(ReadBW, RC, 64, 1024, 16), true},
		{cell(ReadLat, RC, 64, 1024, 16), false},
		{cell(AtomicBW, RC, 8, 256, 128), true},
		{cell(AtomicBW, RC, 64, 256, 1), false},
		{cell(SendLat, RC, 8, 256, 1), false},
		{cell(RCPingpong, RC, units.MiB, 4096, 1), true},
		{cell(RCPingpong, UC, 64, 4096, 1), false},
		{cell(Rping, RC, 2, 4096, 1), false},
		{cell(Rping, RC, 64, 4096, 1), true},
		{cell(Rping, RC, 64*units.KiB, 4096, 1), false},
	} {
		require.Equal(t, c.want, c.cell.Exists(), c.cell)
	}
}

// TestFull checks the full matrix against the product of its dimensions, computed by hand.
func TestFull(t *testing.T) {
	const ip, role, size, mtu, qp = 2, 2, 6, 3, 3
	const datagrams = 2 + 3 + 4 // sizes that fit each MTU
	want := map[Test]int{
		SendBW:     ip * role * (2*size*mtu*qp + datagrams*qp), // RC, UC; UD
		SendLat:    ip * role * (2*size*mtu + datagrams),
		WriteBW:    ip * role * 2 * size * mtu * qp,
		WriteLat:   ip * role * 2 * size * mtu,
		ReadBW:     ip * role * size * mtu * qp,
		ReadLat:    ip * role * size * mtu,
		AtomicBW:   ip * role * mtu * qp,
		AtomicLat:  ip * role * mtu,
		RCPingpong: ip * role * size * mtu,
		Rping:      ip * role * 3,
	}
	got, names := map[Test]int{}, map[string]bool{}
	for _, c := range Full() {
		got[c.Test]++
		require.False(t, names[c.String()], c)
		names[c.String()] = true
	}
	require.Equal(t, want, got)
}

// uncovered returns what a choice leaves out of the full matrix, independently of the algorithm of
// Quick.
func uncovered(choice []Cell) (left []string) {
	type value struct{ dimension, value any }
	values := func(c Cell) []value {
		return []value{{"test", c.Test}, {"role", c.Role}, {"service", c.Service}, {"ip", c.IP},
			{"size", c.Size}, {"mtu", c.MTU}, {"qps", c.QPs}}
	}
	type pair struct{ a, b value }
	type grouped struct {
		test    Test
		role    Role
		service Service
		value
	}
	pairs, groups := map[pair]bool{}, map[grouped]bool{}
	visit := func(cells []Cell, see func(pair, grouped)) {
		for _, c := range cells {
			for i, a := range values(c) {
				for j, b := range values(c) {
					if i != j {
						see(pair{a, b}, grouped{c.Test, c.Role, c.Service, b})
					}
				}
			}
		}
	}
	visit(choice, func(p pair, g grouped) { pairs[p], groups[g] = true, true })
	visit(Full(), func(p pair, g grouped) {
		if !pairs[p] {
			left = append(left, fmt.Sprint(p))
		}
		if !groups[g] {
			left = append(left, fmt.Sprint(g))
		}
	})
	return left
}

func TestQuickCovers(t *testing.T) {
	quick, again := Quick(), Quick()
	require.Equal(t, quick, again)
	require.Empty(t, uncovered(quick))
	require.NotEmpty(t, uncovered(quick[1:]), "uncovered must detect a missing cell")
	seconds := 0.0
	for _, c := range quick {
		require.True(t, c.Exists(), c)
		seconds += c.Seconds()
	}
	t.Logf("%d of %d cells, about %.0f s", len(quick), len(Full()), seconds)
	require.Less(t, seconds, 360.0)
}

func TestImpaired(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Impaired() {
		require.True(t, c.Exists(), c)
		require.Equal(t, RC, c.Service)
		for _, what := range []any{c.Impair, c.Test, c.Role, c.IP} {
			seen[fmt.Sprint(what, " ", c.Impair)] = true
		}
	}
	for _, impair := range Impairments {
		for _, what := range []any{SendBW, WriteBW, ReadBW, AtomicBW, RCPingpong, Rping, Client,
			Server, IPv4, IPv6} {
			require.True(t, seen[fmt.Sprint(what, " ", impair)], "%v %v", what, impair)
		}
	}
}

func TestControlled(t *testing.T) {
	seen, names, seconds := map[string]bool{}, map[string]bool{}, 0.0
	for _, c := range Controlled() {
		require.True(t, c.Exists(), c)
		require.False(t, names[c.String()], c)
		names[c.String()] = true
		seconds += c.Seconds()
		for _, what := range []any{c.Test, c.Role, c.IP, c.Impair} {
			seen[fmt.Sprint(c.Control, " ", what)] = true
		}
		if c.Both {
			seen[fmt.Sprint(c.Control, " both ", c.Test)] = true
		}
		require.Equal(t, c.Watched(), c.Duration() > 0, c)
	}
	for _, what := range []string{
		"swift send_bw", "swift write_bw", "swift read_bw", "swift both send_bw",
		"swift both write_bw", "swift client", "swift server",
		"swift rc_pingpong", "swift rping", "swift loss", "swift IPv4", "swift IPv6",
		"dcqcn send_bw", "dcqcn write_bw", "dcqcn rc_pingpong", "dcqcn rping", "dcqcn client",
		"dcqcn server",
		"dcqcn marks", "dcqcn marks-loss", "dcqcn cnps", "dcqcn IPv4", "dcqcn IPv6",
		"tocc write_bw", "tocc send_bw", "tocc client", "tocc server",
	} {
		require.True(t, seen[what], what)
	}
	require.Less(t, seconds, 60.0)
}

func TestCM(t *testing.T) {
	cells := CM()
	require.Len(t, cells, 16, "eight perftests, two roles")
	for _, c := range cells {
		require.True(t, c.Exists(), c)
	}
	require.Equal(t, "send_bw/client/RC/IPv4/4KiB/mtu4096/qp4/cm", cells[0].String())
}

func TestIterationsAreAffordable(t *testing.T) {
	for _, c := range append(Full(), Impaired()...) {
		require.GreaterOrEqual(t, c.Iterations(), minIterations, c)
		require.LessOrEqual(t, c.Iterations(), 1000, c)
		if packets := c.Iterations() * c.QPs * c.packets(); c.Iterations() > minIterations {
			require.LessOrEqual(t, packets, budget, c)
		}
		if c.Service != RC {
			require.LessOrEqual(t, c.Iterations(), 512, "receives that ib_send_bw posts")
		}
	}
}

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		cell         Cell
		ours, theirs string
	}{
		{
			Cell{WriteBW, Client, UC, IPv4, 4096, 1024, 16, Clean, false, Unconcerned, false},
			"bin/roce_write_bw -d af_packet:eth0 --ip 198.18.0.101/24 --ip fd18::101/64 -x 1" +
				" -p 18515 -m 1024 -n 6 -s 4096 -F -c UC -q 16 --out_json_file f --cc " +
				"fixed:rate=3312000 198.18.0.1",
			"ib_write_bw -d rxe0 -x 1 -p 18515 -m 1024 -n 6 -s 4096 -F -c UC -q 16",
		}, {
			Cell{AtomicLat, Server, RC, IPv6, 8, 256, 1, Clean, false, Unconcerned, false},
			"bin/roce_atomic_lat -d af_packet:eth0 --ip 198.18.0.101/24 --ip fd18::101/64 -x 2" +
				" -p 18515 -m 256 -n 200 -F -u 16 --out_json_file f",
			"ib_atomic_lat -d rxe0 -x 2 -p 18515 -m 256 -n 200 -F -u 16 198.18.0.254",
		}, {
			Cell{RCPingpong, Server, RC, IPv4, 65536, 4096, 1, Clean, false, Unconcerned, false},
			"bin/roce_rc_pingpong -d af_packet:eth0 --ip 198.18.0.101/24 --ip fd18::101/64 -g 0" +
				" -p 18515 -m 4096 -n 125 -s 65536 -c",
			"ibv_rc_pingpong -d rxe0 -g 1 -p 18515 -m 4096 -n 125 -s 65536 -c 198.18.0.254",
		}, {
			Cell{Rping, Client, RC, IPv6, 1024, 4096, 1, Clean, false, Unconcerned, false},
			"bin/roce_rping -d af_packet:eth0 --ip 198.18.0.101/24 --ip fd18::101/64" +
				" -c -a fd18::1 -C 50 -S 1024 -V -v",
			"rping -s -a fd18::1 -C 50 -S 1024 -V -v",
		}, {
			Cell{Rping, Server, RC, IPv4, 64, 4096, 1, Clean, false, Unconcerned, false},
			"bin/roce_rping -d af_packet:eth0 --ip 198.18.0.101/24 --ip fd18::101/64" +
				" -s -a 198.18.0.101 -C 50 -S 64 -V -v",
			"rping -c -a 198.18.0.101 -C 50 -S 64 -V -v",
		},
		{
			Cell{WriteBW, Client, RC, IPv4, 4096, 4096, 4, Clean, true, Unconcerned, false},
			"bin/roce_write_bw -d af_packet:eth0 --ip 198.18.0.101/24 --ip fd18::101/64 -R" +
				" -p 18515 -m 4096 -n 200 -s 4096 -F -u 16 -c RC -q 4 --out_json_file f --cc " +
				"fixed:window=131072 198.18.0.1",
			"ib_write_bw -d rxe0 -R -p 18515 -m 4096 -n 200 -s 4096 -F -u 16 -c RC -q 4",
		}, {
			Cell{ReadLat, Server, RC, IPv4, 4096, 4096, 1, Clean, true, Unconcerned, false},
			"bin/roce_read_lat -d af_packet:eth0 --ip 198.18.0.101/24 --ip fd18::101/64 -R" +
				" -p 18515 -m 4096 -n 200 -s 4096 -F -u 16 --out_json_file f",
			"ib_read_lat -d rxe0 -R -p 18515 -m 4096 -n 200 -s 4096 -F -u 16 198.18.0.101",
		},
		{
			Cell{WriteBW, Server, RC, IPv4, 4096, 1024, 1, Loss, false, Swift, true},
			"bin/roce_write_bw -d af_packet:eth0 --ip 198.18.0.101/24 --ip fd18::101/64 -x 1" +
				" -p 18515 -m 1024 -D 3 -f 1 -s 4096 -F -u 16 -c RC -q 1 -b --out_json_file f " +
				"--watch_json fl --cc " + swift,
			"ib_write_bw -d rxe0 -x 1 -p 18515 -m 1024 -D 3 -f 1 -s 4096 -F -u 16 -c RC -q 1 -b " +
				"198.18.0.254",
		}, {
			Cell{SendBW, Server, RC, IPv6, 4096, 1024, 1, MarksLoss, false, DCQCN, false},
			"bin/roce_send_bw -d af_packet:eth0 --ip 198.18.0.101/24 --ip fd18::101/64 -x 2" +
				" -p 18515 -m 1024 -n 250 -s 4096 -F -u 16 -c RC -q 1 --out_json_file f --cc " +
				dcqcn,
			"ib_send_bw -d rxe0 -x 2 -p 18515 -m 1024 -n 250 -s 4096 -F -u 16 -c RC -q 1 " +
				"--tclass 2 198.18.0.254",
		}, {
			Cell{RCPingpong, Client, RC, IPv4, 65536, 4096, 1, CNPs, false, DCQCN, false},
			"bin/roce_rc_pingpong -d af_packet:eth0 --ip 198.18.0.101/24 --ip fd18::101/64 -g 0" +
				" -p 18515 -m 4096 -n 62 -s 65536 -c --cc " + dcqcn + " 198.18.0.1",
			"ibv_rc_pingpong -d rxe0 -g 1 -p 18515 -m 4096 -n 62 -s 65536 -c",
		}, {
			Cell{Rping, Server, RC, IPv4, 64, 4096, 1, Clean, false, Swift, false},
			"bin/roce_rping -d af_packet:eth0 --ip 198.18.0.101/24 --ip fd18::101/64" +
				" -s -a 198.18.0.101 -C 50 -S 64 -V -v --cc " + swift,
			"rping -c -a 198.18.0.101 -C 50 -S 64 -V -v",
		},
	} {
		require.Equal(t, c.ours, strings.Join(c.cell.Ours("bin", "eth0", "f"), " "))
		require.Equal(t, c.theirs, strings.Join(c.cell.Theirs(), " "))
	}
}

func TestName(t *testing.T) {
	c := Cell{Test: SendBW, Role: Client, Service: RC, IP: IPv6, Size: 64 * units.KiB, MTU: 4096,
		QPs: 1, Impair: Loss}
	require.Equal(t, "send_bw/client/RC/IPv6/64KiB/mtu4096/qp1/loss", c.String())
	c.Impair = Clean
	require.Equal(t, "send_bw/client/RC/IPv6/64KiB/mtu4096/qp1", c.String())
	c.Both, c.Control = true, Swift
	require.Equal(t, "send_bw/client/RC/IPv6/64KiB/mtu4096/qp1/both/swift", c.String())
}
