package matrix

import "github.com/goroce/goroce/units"

// The values of each dimension.
var (
	tests = []Test{SendBW, SendLat, WriteBW, WriteLat, ReadBW, ReadLat, AtomicBW, AtomicLat,
		RCPingpong, Rping}
	roles = []Role{Client, Server}

	services = []Service{RC, UC, UD}
	versions = []IP{IPv4, IPv6}
	sizes    = []units.Bytes{2, atomicSize, 64, units.KiB, 4 * units.KiB, 64 * units.KiB, units.MiB}
	mtus     = []units.Bytes{256, 1024, 4096}
	qps      = []int{1, 16, 128}
)

// Full is every clean cell there is.
func Full() []Cell {
	var cells []Cell
	for _, test := range tests {
		for _, role := range roles {
			for _, service := range services {
				for _, ip := range versions {
					for _, size := range sizes {
						for _, mtu := range mtus {
							for _, n := range qps {
								c := Cell{Test: test, Role: role, Service: service, IP: ip,
									Size: size, MTU: mtu, QPs: n}
								if c.Exists() {
									cells = append(cells, c)
								}
							}
						}
					}
				}
			}
		}
	}
	return cells
}

// CM is the cells whose ends meet by the RDMA CM: every perftest in either role, the bandwidths
// with several queue pairs.
func CM() []Cell {
	var cells []Cell
	for _, test := range tests {
		for _, role := range roles {
			c := Cell{Test: test, Role: role, Service: RC, IP: IPv4, Size: 4 * units.KiB, MTU: 4096,
				QPs: 4, CM: true}
			if test.verb() == "atomic" {
				c.Size = atomicSize
			}
			if test.Latency() {
				c.QPs = 1
			}
			if c.Exists() {
				cells = append(cells, c)
			}
		}
	}
	return cells
}

// Impaired is the cells with something between the ends: every impairment on every verb in either
// role, and on the tests that verify what arrives.
func Impaired() []Cell {
	var cells []Cell
	for _, impair := range Impairments {
		for _, role := range roles {
			for _, c := range []Cell{
				{Test: WriteBW, IP: IPv4, Size: 4 * units.KiB, MTU: 1024, QPs: 1},
				{Test: SendBW, IP: IPv6, Size: 64 * units.KiB, MTU: 4096, QPs: 1},
				{Test: ReadBW, IP: IPv4, Size: 4 * units.KiB, MTU: 1024, QPs: 1},
				{Test: AtomicBW, IP: IPv4, Size: atomicSize, MTU: 1024, QPs: 1},
				{Test: RCPingpong, IP: IPv4, Size: 64 * units.KiB, MTU: 4096, QPs: 1},
				{Test: Rping, IP: IPv6, Size: 4 * units.KiB, MTU: rpingMTU, QPs: 1},
			} {
				c.Role, c.Service, c.Impair = role, RC, impair
				cells = append(cells, c)
			}
		}
	}
	return cells
}

// Controlled is the cells that are about congestion control. Swift goes by the round trips of
// packets to a guest that is slow, and through a wire that loses: toward the guest, from it by
// READs, and both ways at once. Of DCQCN we are both halves: the one that answers the guest's
// marked packets with CNPs, and the one that CNPs slow down, which the wire makes, for rxe does
// not.
func Controlled() []Cell {
	cells := []Cell{
		{Test: SendBW, Role: Client, IP: IPv6, Size: 64 * units.KiB, MTU: 4096, Control: Swift},
		{Test: WriteBW, Role: Client, IP: IPv4, Size: 64 * units.KiB, MTU: 4096, Control: Swift,
			Impair: Loss},
		{Test: ReadBW, Role: Client, IP: IPv4, Size: 4 * units.KiB, MTU: 1024, Control: Swift,
			Impair: Loss},
		{Test: WriteBW, Role: Server, IP: IPv6, Size: 4 * units.KiB, MTU: 1024, Control: Swift,
			Impair: Loss, Both: true},
		{Test: SendBW, Role: Server, IP: IPv4, Size: 64 * units.KiB, MTU: 4096, Control: Swift,
			Impair: Loss, Both: true},
		{Test: RCPingpong, Role: Client, IP: IPv4, Size: units.MiB, MTU: 4096, Control: Swift,
			Impair: Loss},
		{Test: RCPingpong, Role: Server, IP: IPv6, Size: units.MiB, MTU: 4096, Control: Swift,
			Impair: Loss},
		{Test: Rping, Role: Server, IP: IPv6, Size: 32 * units.KiB, MTU: rpingMTU, Control: Swift},

		{Test: WriteBW, Role: Server, IP: IPv4, Size: 64 * units.KiB, MTU: 4096, Control: DCQCN,
			Impair: MarksLoss},
		{Test: SendBW, Role: Server, IP: IPv6, Size: 4 * units.KiB, MTU: 1024, Control: DCQCN,
			Impair: MarksLoss},
		{Test: Rping, Role: Server, IP: IPv4, Size: 32 * units.KiB, MTU: rpingMTU, Control: DCQCN,
			Impair: MarksLoss},
		{Test: SendBW, Role: Client, IP: IPv4, Size: 64 * units.KiB, MTU: 4096, Control: DCQCN,
			Impair: Marks},
		{Test: WriteBW, Role: Client, IP: IPv4, Size: 64 * units.KiB, MTU: 4096, Control: DCQCN,
			Impair: CNPs},
		{Test: RCPingpong, Role: Client, IP: IPv4, Size: units.MiB, MTU: 4096, Control: DCQCN,
			Impair: CNPs},

		{Test: WriteBW, Role: Client, IP: IPv4, Size: 4 * units.KiB, MTU: 1024, Control: Tokens},
		{Test: SendBW, Role: Server, IP: IPv6, Size: 4 * units.KiB, MTU: 1024, Control: Tokens},
	}
	for i := range cells {
		cells[i].Service, cells[i].QPs = RC, 1
	}
	return cells
}
