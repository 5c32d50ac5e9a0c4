package fabric

import (
	"encoding/binary"
	"slices"
)

// findRoutes finds for every switch the ports on the shortest ways to every host. Hosts on the same
// switches share the work.
func (n *Network) findRoutes() {
	sets := map[string]int{} // looked up only, never walked
	var members [][]*Host
	for _, h := range n.hosts {
		key := make([]byte, 0, 16)
		for _, p := range h.nic.ports {
			if p.peer.sw != nil {
				key = append(key, byte(p.peer.sw.index), byte(p.peer.sw.index>>8),
					byte(p.peer.sw.index>>16))
			}
		}
		set, known := sets[string(key)]
		if !known {
			set = int(len(members))
			sets[string(key)] = set
			members = append(members, nil)
		}
		members[set] = append(members[set], h)
	}
	for _, s := range n.switches {
		s.routes = make([]uint32, len(n.hosts))
		s.groups = [][]*Port{nil}
		s.tier = uint64(len(n.seeds))
	}
	far := int32(len(n.switches) + 1)
	distance := make([]int32, len(n.switches))
	for _, hosts := range members {
		for i := range distance {
			distance[i] = far
		}
		var edge []*Switch
		for _, p := range hosts[0].nic.ports {
			if s := p.peer.sw; s != nil && distance[s.index] == far {
				distance[s.index] = 0
				edge = append(edge, s)
			}
		}
		for at := 0; at < len(edge); at++ {
			s := edge[at]
			s.tier = min(s.tier, uint64(distance[s.index]))
			for _, p := range s.ports {
				if next := p.peer.sw; next != nil && distance[next.index] == far {
					distance[next.index] = distance[s.index] + 1
					edge = append(edge, next)
				}
			}
		}
		for _, s := range edge {
			var ways []*Port
			for _, p := range s.ports {
				if next := p.peer.sw; next != nil && distance[next.index] == distance[s.index]-1 {
					ways = append(ways, p)
				}
			}
			group := s.group(ways)
			for _, h := range hosts {
				s.routes[h.index] = group
			}
		}
		for _, h := range hosts {
			for _, s := range edge {
				if distance[s.index] > 0 {
					break // edge is in the order of distance
				}
				var last []*Port
				for _, p := range h.nic.ports {
					if p.peer.sw == s {
						last = append(last, p.peer)
					}
				}
				s.routes[h.index] = s.group(last)
			}
		}
	}
}

// group answers the number of a set of ports of equal cost.
func (s *Switch) group(ways []*Port) uint32 {
	for i, g := range s.groups {
		if slices.Equal(g, ways) {
			return uint32(i)
		}
	}
	s.groups = append(s.groups, ways)
	return uint32(len(s.groups) - 1)
}

// route chooses the port that a frame leaves by; nil when there is none.
func (s *Switch) route(f *frame) *Port {
	ways := s.groups[s.routes[f.dst]]
	if len(ways) == 1 {
		return ways[0]
	}
	if len(ways) == 0 {
		return nil
	}
	p := ways[choose(f.hash, s.net.seeds[s.tier%uint64(len(s.net.seeds))], len(ways))]
	if p.faults == nil || !p.faults.down {
		return p
	}
	return s.detour(f, ways)
}

// detour chooses among the ways that are up.
func (s *Switch) detour(f *frame, ways []*Port) *Port {
	up := make([]*Port, 0, 8)
	for _, p := range ways {
		if p.faults == nil || !p.faults.down {
			up = append(up, p)
		}
	}
	if len(up) == 0 {
		return nil
	}
	return up[choose(f.hash, s.net.seeds[s.tier%uint64(len(s.net.seeds))], len(up))]
}

// choose spreads hashes over n ways.
func choose(hash uint32, seed uint64, n int) int {
	return int(uint64(mix(uint64(hash), seed)) * uint64(n) >> 32)
}

// Path answers the ports that frames of a flow leave by, from the host src to the host dst: the
// flow with these UDP source port and addresses, or any when source port is 0.
func (n *Network) Path(src, dst int, sourcePort uint16) []*Port {
	if err := n.Build(); err != nil || src == dst {
		return nil
	}
	f := &frame{dst: int32(dst)}
	a, b := n.hosts[src].Addrs()[0].Addr().As4(), n.hosts[dst].Addrs()[0].Addr().As4()
	f.hash = flowHash(binary.BigEndian.Uint32(a[:]), binary.BigEndian.Uint32(b[:]), sourcePort)
	ports := n.hosts[src].nic.ports
	p := ports[choose(f.hash, n.bond, len(ports))]
	path := []*Port{p}
	for p.peer.sw != nil {
		if p = p.peer.sw.route(f); p == nil || len(path) > len(n.switches)+1 {
			return nil
		}
		path = append(path, p)
	}
	return path
}
