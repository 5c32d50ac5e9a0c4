package transport

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// victim is an endpoint with a communication manager, and a link from which anyone may send to it.
type victim struct {
	t    testing.TB
	now  units.Time
	link *link
	ep   *Endpoint
	cm   *rdmacm.Machine
}

func newVictim(t testing.TB) *victim {
	v := &victim{t: t}
	v.link = newLink("victim", 2, &v.now)
	v.link.peer = newLink("world", 1, &v.now)
	var err error
	v.ep, err = New(Config{Port: v.link, Addrs: prefixes("10.0.0.2/16"), Seed: 1}, 0)
	require.NoError(t, err)
	v.cm, err = rdmacm.New(rdmacm.Config{Seed: 1})
	require.NoError(t, err)
	require.NoError(t, v.ep.Setup().Manage(v.cm))
	return v
}

// deliver delivers a message from an address to queue pair 1.
func (v *victim) deliver(from [6]byte, ip netip.Addr, m rdmacm.Message) {
	var tmpl wire.Template
	require.NoError(v.t,
		tmpl.Set(wire.Address{SrcMAC: from, DstMAC: v.link.mac, Src: ip,
			Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 0xc000, DestQP: rdmacm.QPN}))
	frame := make([]byte, linkBuffer)
	ext, total := tmpl.Build(frame, wire.Fields{Op: wire.UDSendOnly}, rdmacm.MADLen)
	wire.View[wire.DETH](frame[ext:]).Set(rdmacm.QKey, rdmacm.QPN)
	copy(frame[ext+wire.DETHLen:], rdmacm.Append(nil, 1, m))
	tmpl.Seal(frame[:total])
	var one [1]packet.Buf
	v.link.Alloc(one[:])
	one[0].SetLen(copy(one[0].Room(), frame[:total]))
	v.link.inbox = append(v.link.inbox, one[0])
}

// poll polls once and returns the frames that leave.
func (v *victim) poll() (frames [][]byte) {
	v.ep.Poll(v.now)
	for _, b := range v.link.peer.inbox {
		frames = append(frames, append([]byte(nil), b.Data()...))
	}
	v.link.peer.inbox = nil
	v.now = v.now.Add(units.Millisecond)
	return frames
}

// An answer of the communication manager goes to where its question came from, and creates no
// neighbour: the question's source may be forged.
func TestRepliesAddNoNeighbours(t *testing.T) {
	v := newVictim(t)
	require.NoError(t, v.cm.Listen(rdmacm.TCPService(cmPort), 8))
	for i := range neigh.MaxEntries + 1 {
		ip := netip.AddrFrom4([4]byte{10, 0, byte(1 + i/200), byte(1 + i%200)})
		mac := [6]byte{2, 0x66, 0, 0, byte(i >> 8), byte(i)}
		// of an unknown connection
		var m rdmacm.Message = &rdmacm.DREQ{LocalID: 1, RemoteID: 2}
		if i%2 == 1 {
			m = &rdmacm.REQ{LocalID: 1, Service: 1} // no such service
		}
		v.deliver(mac, ip, m)
		frames := v.poll()
		require.Len(t, frames, 1, "the answer, and no address resolution")
		require.Equal(t, mac, [6]byte(frames[0]))
		_, known := v.ep.Setup().Neighbors().Known(ip)
		require.False(t, known)
	}
	require.Zero(t, v.ep.Setup().Neighbors().Counters().Evicted)
	v.queuePair(AddressVector{IP: netip.MustParseAddr("10.0.0.7")})
}

// A later answer, when the program has decided, takes the same path.
func TestLateRepliesAddNoNeighbours(t *testing.T) {
	v := newVictim(t)
	require.NoError(t, v.cm.Listen(rdmacm.TCPService(cmPort), 8))
	mac, ip := [6]byte{2, 0x66, 0, 0, 0, 1}, netip.MustParseAddr("10.0.9.9")
	r := rdmacm.REQ{LocalID: 1, Service: rdmacm.TCPService(cmPort), LocalQPN: 0x77, MTU: 3,
		LocalResponseTimeout: 8, MaxCMRetries: 3,
		Primary: rdmacm.Path{LocalGID: ip, RemoteGID: netip.MustParseAddr("10.0.0.2")}}
	rdmacm.IPHeader{Source: ip, Destination: netip.MustParseAddr("10.0.0.2")}.Put(r.Private[:])
	v.deliver(mac, ip, &r)
	require.Empty(t, v.poll())
	event, ok := v.cm.Event()
	require.True(t, ok)
	require.NoError(t, event.Conn.Accept(rdmacm.Offer{QPN: 0x99, PSN: 1}, v.now))
	for tries := 0; tries < 5; { // the REP is repeated, and a REJ follows
		for _, frame := range v.poll() {
			require.Equal(t, mac, [6]byte(frame))
			tries++
		}
		v.now = v.now.Add(units.Second)
	}
	require.False(t, v.ep.Loop().IsBusy())
}

// A next hop in the neighbour table takes precedence over the address from which a frame claims to
// come.
func TestRepliesGoToKnownNeighbours(t *testing.T) {
	v := newVictim(t)
	ip := netip.MustParseAddr("10.0.0.7")
	_, err := v.ep.Setup().Neighbors().Resolve(ip, v.now)
	require.NoError(t, err)
	v.poll()
	real := [6]byte{2, 0, 0, 0, 0, 7}
	reply := make([]byte, 60) // ARP, RFC 826
	copy(reply, v.link.mac[:])
	copy(reply[6:], real[:])
	binary.BigEndian.PutUint64(reply[12:], 0x0806_0001_0800_0604)
	reply[21] = 2
	copy(reply[22:], real[:])
	copy(reply[28:], ip.AsSlice())
	copy(reply[32:], v.link.mac[:])
	copy(reply[38:], []byte{10, 0, 0, 2})
	var one [1]packet.Buf
	v.link.Alloc(one[:])
	one[0].SetLen(copy(one[0].Room(), reply))
	v.link.inbox = append(v.link.inbox, one[0])
	require.Empty(t, v.poll())
	v.deliver([6]byte{2, 0x66, 0, 0, 0, 1}, ip, &rdmacm.DREQ{LocalID: 1, RemoteID: 2})
	frames := v.poll()
	require.Len(t, frames, 1)
	require.Equal(t, real, [6]byte(frames[0]))
}

// A frame that claims to come from a group address is dropped: it could not be answered.
func TestManagementFromAGroup(t *testing.T) {
	v := newVictim(t)
	v.deliver([6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, netip.MustParseAddr("10.0.0.7"),
		&rdmacm.DREQ{LocalID: 1, RemoteID: 2})
	require.Empty(t, v.poll())
	require.EqualValues(t, 1, v.ep.Stats().DropManagement)
}

// Queue pairs and address handles hold their neighbours until they are reset or destroyed.
func TestNeighboursAreHeld(t *testing.T) {
	for name, use := range map[string]func(*victim, AddressVector) (end func()){
		"reset": func(v *victim, to AddressVector) func() {
			qp := v.queuePair(to)
			return func() { _ = qp.Modify(Reset, QPAttr{}) }
		},
		"destroyed": func(v *victim, to AddressVector) func() {
			qp := v.queuePair(to)
			return func() { qp.Destroy(); qp.Destroy() }
		},
		"address handle": func(v *victim, to AddressVector) func() {
			ah, err := v.ep.CreateAH(v.ep.AllocPD(), to)
			require.NoError(v.t, err)
			return func() { ah.Destroy(); ah.Destroy() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t)
			held := AddressVector{IP: netip.MustParseAddr("10.0.0.7")}
			end := use(v, held)
			entry, err := v.ep.Setup().Neighbors().Resolve(held.IP, v.now)
			require.NoError(t, err)
			others := func() {
				for i := range 2 * neigh.MaxEntries {
					_, err := v.ep.Setup().Neighbors().Resolve(netip.AddrFrom4([4]byte{10, 0,
						byte(1 + i/200), byte(1 + i%200)}), v.now)
					require.NoError(t, err)
				}
			}
			others()
			require.False(t, entry.Evicted())
			end()
			others()
			require.True(t, entry.Evicted())
		})
	}
}

func (v *victim) queuePair(to AddressVector) *QueuePair {
	pd := v.ep.AllocPD()
	cq, err := v.ep.CreateCQ(4)
	require.NoError(v.t, err)
	qp, err := v.ep.CreateQP(QPInit{Type: RC, PD: pd, SendCQ: cq, RecvCQ: cq})
	require.NoError(v.t, err)
	require.NoError(v.t, qp.Modify(Init, QPAttr{}))
	require.NoError(v.t,
		qp.Modify(ReadyToReceive, QPAttr{Path: to, PathMTU: units.KiB, DestQPN: 17}))
	return qp
}

// A datagram that waits for its neighbour leaves although its address handle was destroyed and its
// neighbour evicted.
func TestDatagramOutlivesItsNeighbour(t *testing.T) {
	v := newVictim(t)
	to := AddressVector{IP: netip.MustParseAddr("10.0.0.7")}
	ah, err := v.ep.CreateAH(v.ep.AllocPD(), to)
	require.NoError(t, err)
	require.False(t, ah.resolved())
	forgotten := ah.neighbor
	ah.Destroy()
	for i := range 2 * neigh.MaxEntries {
		_, err := v.ep.Setup().Neighbors().Resolve(netip.AddrFrom4([4]byte{10, 0, byte(1 + i/200),
			byte(1 + i%200)}), v.now)
		require.NoError(t, err)
	}
	require.True(t, forgotten.Evicted())
	require.False(t, ah.resolved())
	require.NotSame(t, forgotten, ah.neighbor, "it is resolved again")
	require.False(t, ah.neighbor.Evicted())
}
