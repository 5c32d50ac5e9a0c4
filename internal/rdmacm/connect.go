package rdmacm

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Connect begins a connection: ConnectResponse, Rejected or Unreachable says what became of it.
func (m *Machine) Connect(d Dial, now units.Time) (*Conn, error) {
	bad := func(err error) (*Conn, error) {
		return nil, fmt.Errorf("rdmacm: connect to service %#x of %v: %w", uint64(d.Service),
			d.Peer, err)
	}
	code := mtuCode(d.MTU)
	local, peer := plain(d.Local), plain(d.Peer)
	switch {
	case !local.IsValid() || !peer.IsValid() || local.Is4() != peer.Is4():
		return bad(fmt.Errorf("addresses %v and %v: %w", d.Local, d.Peer, ErrInvalid))
	case d.Type > UC:
		return bad(fmt.Errorf("transport service type %d: %w", d.Type, ErrInvalid))
	case code == 0:
		return bad(fmt.Errorf("path MTU %d is none of 256, 512, 1024, 2048, 4096: %w", int64(d.MTU),
			ErrInvalid))
	case d.FlowLabel >= 1<<20:
		return bad(fmt.Errorf("flow label %#x has more than 20 bits: %w", d.FlowLabel, ErrInvalid))
	case len(m.conns) >= m.config.MaxConns || m.deaf():
		return bad(fmt.Errorf("%d connections: %w", len(m.conns), ErrLimit))
	}
	if err := d.check(MaxRequestPrivate); err != nil {
		return bad(err)
	}
	if d.PKey == 0 {
		d.PKey = 0xffff
	}
	if d.HopLimit == 0 {
		d.HopLimit = 64
	}
	c := m.add(local, peer)
	if d.SourcePort == 0 {
		d.SourcePort = 0xC000 | uint16(c.id)
	}
	c.active, c.qpn, c.tid = true, d.QPN, uint64(c.id)
	f := &m.config
	c.req = REQ{
		LocalID: c.id, Service: d.Service, LocalGUID: f.GUID, LocalQPN: d.QPN,
		ResponderResources: d.ResponderResources, InitiatorDepth: d.InitiatorDepth,
		RemoteResponseTimeout: f.ResponseTimeout, LocalResponseTimeout: f.ResponseTimeout,
		MaxCMRetries: f.MaxRetries,
		Type:         d.Type, StartingPSN: d.PSN, RetryCount: d.RetryCount,
		RNRRetryCount: d.RNRRetry,
		PKey:          d.PKey, MTU: code, SRQ: d.SRQ,
		Primary: Path{
			LocalLID: 0xffff, RemoteLID: 0xffff, LocalGID: local, RemoteGID: peer,
			FlowLabel:    d.FlowLabel,
			TrafficClass: d.TrafficClass, HopLimit: d.HopLimit,
			LocalACKTimeout: ackTimeout(f.PacketLifetime, f.ACKDelay),
		},
	}
	IPHeader{SourcePort: d.SourcePort, Source: local, Destination: peer}.Put(c.req.Private[:])
	copy(c.req.Private[ipHeaderLen:], d.Private)
	c.begin(reqSent, &c.req, f.ResponseTimeout, f.MaxRetries, now)
	return c, nil
}
