package wireshark

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// families are the kinds of frames an endpoint sends.
var families = map[string]struct {
	addrs [2]string
	vlan  uint16
}{
	"IPv4":      {[2]string{"10.0.0.1/24", "10.0.0.2/24"}, 0},
	"IPv6":      {[2]string{"fd00::1/64", "fd00::2/64"}, 0},
	"IPv4 VLAN": {[2]string{"10.0.0.1/24", "10.0.0.2/24"}, 5},
	"IPv6 VLAN": {[2]string{"fd00::1/64", "fd00::2/64"}, 4094},
}

// Every verb, every response and all other packets of endpoints, over each kind of frame.
func TestFrames(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, f.addrs, f.vlan, packet.FaultOptions{Rules: []packet.FaultRule{
				{Direction: packet.DirectionSend, Fault: packet.FaultLose, Nth: 1,
					Match: is(wire.RCWriteMiddle)},
			}})
			p.everyVerb()
			p.everyAnswer()
			p.pings(f.vlan)
			frames := p.recorded.frames(t)
			seen, beside := check(t, p.recorded, frames)
			address := []string{"ARP request", "ARP reply"}
			if p.addrs[0].Addr().Is6() {
				address = []string{"solicitation", "advertisement"}
			}
			for _, what := range append(address, "echo request", "echo reply") {
				require.Positive(t, beside[what], "no %s was sent", what)
			}
			for op := range wire.Manufacturer {
				if i := op.Info(); i.Valid && i.Kind != wire.CNPKind {
					require.Positive(t, seen[op], "no %v was sent", op)
				}
			}
			// ACK, RNR NAK; NAKs of sequence, request and access (IB tables 43 to 45).
			for _, syndrome := range []uint8{0x1f, 0x20 | 1, 0x60, 0x61, 0x62} {
				require.True(t, acknowledged(t, frames, syndrome), "no AETH with syndrome %#x",
					syndrome)
			}
		})
	}
}

// check must detect errors: invalid frames must get a remark.
func TestWrongFrames(t *testing.T) {
	good := built(t, bothFamilies[0], 0x17, wire.Fields{Op: wire.RCWriteOnly}, nil,
		make([]byte, 40))
	spoil := func(at int, b ...byte) []byte {
		f := bytes.Clone(good)
		copy(f[at:], b)
		return f
	}
	ip, udp, bth := wire.EthernetLen, wire.EthernetLen+wire.IPv4Len,
		wire.EthernetLen+wire.IPv4Len+wire.UDPLen
	short := bytes.Clone(good[:bth+wire.BTHLen+10])
	wire.View[wire.IPv4](short[ip:]).TotalLen.Set(uint16(len(short) - ip))
	wire.View[wire.IPv4](short[ip:]).UpdateChecksum()
	wire.View[wire.UDP](short[udp:]).Len.Set(uint16(len(short) - udp))
	found := tshark(t, recordFrames(t, good, short, spoil(ip+10, 1, 2), spoil(udp+4, 0xff, 0xff),
		spoil(udp+6, 1, 2), spoil(bth, uint8(wire.XACK))).path, nil)
	require.Empty(t, found[0].complaints(t))
	for i, d := range found[1:] {
		require.NotEmpty(t, d.complaints(t), "frame %d", i+2)
	}
}

// is returns a match for an opcode.
func is(op wire.Opcode) func([]byte) bool {
	return func(frame []byte) bool {
		var p wire.Packet
		return p.Parse(frame) == nil && p.Op == op
	}
}

func acknowledged(t *testing.T, frames [][]byte, syndrome uint8) bool {
	for _, f := range frames {
		var p wire.Packet
		if p.Parse(f) == nil && p.Op.Info().AETH && uint8(p.AETH().Syndrome) == syndrome {
			return true
		}
	}
	return false
}

// everyVerb sends messages of one, two and more packets.
func (p *pair) everyVerb() {
	ok := func(s transport.Status) {
		p.t.Helper()
		require.Equal(p.t, transport.StatusSuccess, s)
	}
	for _, kind := range []transport.QPType{transport.RC, transport.UC} {
		x, y := p.connected(kind, units.KiB, false)
		for _, n := range []int{0, 5, 2000, 3000} {
			sges := []transport.SGE{x.mr.SGE(0, n)}
			for _, op := range []transport.Op{transport.OpSend, transport.OpSendImm,
				transport.OpSendInv, transport.OpWrite, transport.OpWriteImm} {
				if op == transport.OpSendInv && kind != transport.RC {
					continue
				}
				if op != transport.OpWrite {
					y.recv(p, n)
				}
				extra, err := y.ep.RegisterMemory(y.pd, make([]byte, 8), transport.RemoteInvalidate)
				require.NoError(p.t, err)
				ok(x.send(p, transport.WorkRequest{Op: op, Solicited: true, SGList: sges,
					Imm: 0x01020304, InvalidateKey: extra.RKey,
					RemoteAddr: y.mr.Addr + 1<<16, RKey: y.mr.RKey}))
			}
			if kind == transport.RC && n > 0 {
				ok(x.send(p, transport.WorkRequest{Op: transport.OpRead, SGList: sges,
					RemoteAddr: y.mr.Addr, RKey: y.mr.RKey}))
			}
		}
		if kind == transport.RC {
			for _, op := range []transport.Op{transport.OpCmpSwap, transport.OpFetchAdd} {
				ok(x.send(p, transport.WorkRequest{Op: op, SGList: []transport.SGE{x.mr.SGE(0, 8)},
					RemoteAddr: y.mr.Addr, RKey: y.mr.RKey,
					CompareAdd: 0x1122334455667788, Swap: 0x99aabbccddeeff00}))
			}
		}
	}
	x, y := p.side(p.a, transport.UD), p.side(p.b, transport.UD)
	for _, s := range []*side{x, y} {
		require.NoError(p.t, s.qp.Connect(transport.QPAttr{QKey: qkey, SendPSN: 7}))
	}
	ah, err := p.a.CreateAH(x.pd, transport.AddressVector{IP: p.addrs[1].Addr(), HopLimit: 9})
	require.NoError(p.t, err)
	for _, op := range []transport.Op{transport.OpSend, transport.OpSendImm} {
		ok(x.send(p, transport.WorkRequest{Op: op, SGList: []transport.SGE{x.mr.SGE(0, 501)},
			Imm: 0xfffefdfc, AH: ah, RemoteQPN: y.qp.Num, RemoteQKey: qkey}))
	}
}

// everyAnswer makes a responder send every NAK. (Packet loss causes that of a sequence error.)
func (p *pair) everyAnswer() {
	x, y := p.connected(transport.RC, units.KiB, false)
	require.NoError(p.t,
		x.qp.PostSend(&transport.WorkRequest{Op: transport.OpSend,
			SGList: []transport.SGE{x.mr.SGE(0, 5)}}))
	p.run(func() bool { return p.b.Stats().RNRSent > 0 })
	y.recv(p, 5)
	p.run(func() bool { return x.poll() > 0 })
	y.recv(p, 5)
	require.Equal(p.t, transport.StatusRemInvReqErr,
		x.send(p, transport.WorkRequest{Op: transport.OpSend,
			SGList: []transport.SGE{x.mr.SGE(0, 50)}}))
	x, y = p.connected(transport.RC, 256, false)
	require.Equal(p.t, transport.StatusRemAccessErr,
		x.send(p, transport.WorkRequest{Op: transport.OpWrite,
			SGList:     []transport.SGE{x.mr.SGE(0, 5)},
			RemoteAddr: y.mr.Addr, RKey: y.mr.RKey + 1}))
}

// pings sends a an echo request and a request for its address.
func (p *pair) pings(vlan uint16) {
	src, dst := p.addrs[1].Addr(), p.addrs[0].Addr()
	mac := func(e *transport.Endpoint) []byte { m := e.Query().MAC; return m[:] }
	eth := &layers.Ethernet{SrcMAC: mac(p.b), DstMAC: mac(p.a),
		EthernetType: layers.EthernetTypeIPv4}
	stack := []gopacket.SerializableLayer{eth}
	if src.Is6() {
		eth.EthernetType = layers.EthernetTypeIPv6
	}
	if vlan != 0 {
		stack = append(stack, &layers.Dot1Q{Priority: uint8(vlan >> 13),
			VLANIdentifier: vlan & 0xfff, Type: eth.EthernetType})
		eth.EthernetType = layers.EthernetTypeDot1Q
	}
	if src.Is4() {
		stack = append(stack, &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4,
			SrcIP: src.AsSlice(), DstIP: dst.AsSlice()},
			&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0),
				Id: 7, Seq: 1})
	} else {
		ip := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolICMPv6,
			SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
		icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeEchoRequest,
			0)}
		require.NoError(p.t, icmp.SetNetworkLayerForChecksum(ip))
		stack = append(stack, ip, icmp, &layers.ICMPv6Echo{Identifier: 7, SeqNumber: 1})
	}
	stack = append(stack, gopacket.Payload("goroce goes round and round"))
	b := gopacket.NewSerializeBuffer()
	require.NoError(p.t,
		gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true,
			ComputeChecksums: true}, stack...))
	inject(p.t, p.far, b.Bytes())
	p.pass(10 * units.Microsecond)
}

// others are the protocols beside RoCEv2, with the expected dissection.
var others = []struct {
	path  string // of protocols, without the VLAN's
	types string // field of the message type
	known map[uint64]string
	sums  string // field of the checksum's status
}{
	{"eth:ethertype:arp", "arp.opcode", map[uint64]string{1: "ARP request", 2: "ARP reply"}, ""},
	{"eth:ethertype:ip:icmp:data", "icmp.type",
		map[uint64]string{8: "echo request", 0: "echo reply"}, "icmp.checksum.status"},
	{"eth:ethertype:ipv6:icmpv6", "icmpv6.type",
		map[uint64]string{135: "solicitation", 136: "advertisement"}, "icmpv6.checksum.status"},
	{"eth:ethertype:ipv6:icmpv6:data", "icmpv6.type",
		map[uint64]string{128: "echo request", 129: "echo reply"}, "icmpv6.checksum.status"},
}

const checksumGood = 1

// check compares tshark's and wire's results for a recording, and returns how often each opcode and
// each message of others occurred.
func check(t *testing.T, r recording, frames [][]byte) (seen map[wire.Opcode]int,
	beside map[string]int) {
	t.Helper()
	fields := []string{"ip.checksum.status", "udp.checksum.status", "vlan.id", "vlan.priority",
		"data.data", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "udp.srcport", "udp.dstport"}
	fields = append(fields, fieldsOf...)
	for _, o := range others {
		fields = append(fields, o.types, o.sums)
	}
	fields = strings.Fields(strings.Join(fields, " ")) // without the empty one
	found := tshark(t, r.path, fields)
	require.Len(t, found, len(frames))
	seen, beside = map[wire.Opcode]int{}, map[string]int{}
	for i, d := range found {
		about := fmt.Sprintf("frame %d: %x", i+1, frames[i][:min(len(frames[i]), 120)])
		d.clean(t, about)
		if n, there := d.number(t, "ip.checksum.status"); there {
			require.EqualValues(t, checksumGood, n, about)
		}
		var p wire.Packet
		switch err := p.Parse(frames[i]); err {
		case nil:
			require.True(t, p.ICRC(), about)
			compare(t, about, d, &p)
			seen[p.Op]++
		case wire.ErrNotRoCE:
			beside[other(t, about, d)]++
		default:
			t.Fatalf("%s: %v", about, err)
		}
	}
	return seen, beside
}

// other checks a frame that is not RoCEv2 and returns its name.
func other(t *testing.T, about string, d dissected) string {
	t.Helper()
	for _, o := range others {
		if strings.ReplaceAll(d[protocols][0], ":vlan:ethertype", "") != o.path {
			continue
		}
		kind, _ := d.number(t, o.types)
		require.Contains(t, o.known, kind, about)
		if o.sums != "" {
			n, _ := d.number(t, o.sums)
			require.EqualValues(t, checksumGood, n, about)
		}
		return o.known[kind]
	}
	t.Fatalf("%s: dissected as %s, want a known protocol", about, d[protocols])
	return ""
}

// fieldsOf are Wireshark's fields of RoCEv2 that are numbers, and those that are bytes.
var (
	numbersOf = []string{
		"infiniband.bth.opcode", "infiniband.bth.se", "infiniband.bth.m", "infiniband.bth.padcnt",
		"infiniband.bth.tver", "infiniband.bth.p_key",
		"infiniband.bth.destqp", "infiniband.bth.a", "infiniband.bth.reserved7",
		"infiniband.bth.psn",
		"infiniband.deth.q_key", "infiniband.deth.srcqp",
		"infiniband.reth.va", "infiniband.reth.r_key", "infiniband.reth.dmalen",
		"infiniband.atomiceth.swapdt", "infiniband.atomiceth.cmpdt",
		"infiniband.atomicacketh.origremdt",
		"infiniband.aeth.syndrome", "infiniband.aeth.msn", "infiniband.invariant.crc",
	}
	bytesOf  = []string{"infiniband.immdt", "infiniband.ieth"}
	fieldsOf = append(append([]string(nil), numbersOf...), bytesOf...)
)

// compare checks that Wireshark finds exactly the headers that wire finds in a RoCEv2 frame, with
// the same contents.
func compare(t *testing.T, about string, d dissected, p *wire.Packet) {
	t.Helper()
	want := map[string]uint64{
		"infiniband.bth.opcode": uint64(p.Op),
		"infiniband.bth.se":     one(p.BTH().Flags&wire.BTHSolicited != 0),
		"infiniband.bth.m":      0,
		"infiniband.bth.padcnt": uint64(p.BTH().Flags & wire.BTHPad >> 4), "infiniband.bth.tver": 0,
		"infiniband.bth.p_key":     uint64(p.BTH().PKey.Get()),
		"infiniband.bth.destqp":    uint64(p.DestQP),
		"infiniband.bth.a":         one(p.BTH().Ack&wire.BTHAckReq != 0),
		"infiniband.bth.reserved7": 0,
		"infiniband.bth.psn":       uint64(p.PSN),
		"infiniband.invariant.crc": uint64(
			binary.BigEndian.Uint32(p.Frame[len(p.Frame)-wire.ICRCLen:])),
	}
	content := map[string]string{}
	i := p.Op.Info()
	if i.DETH {
		want["infiniband.deth.q_key"], want["infiniband.deth.srcqp"] = uint64(p.DETH().QKey.Get()),
			uint64(p.DETH().SrcQP.Get())
	}
	if i.RETH {
		h := p.RETH()
		want["infiniband.reth.va"], want["infiniband.reth.r_key"],
			want["infiniband.reth.dmalen"] = h.VA.Get(), uint64(h.RKey.Get()), uint64(h.Len.Get())
	}
	if i.AtomicETH {
		h := p.AtomicETH() // address and key have the RETH's names
		want["infiniband.reth.va"], want["infiniband.reth.r_key"] = h.VA.Get(), uint64(h.RKey.Get())
		want["infiniband.atomiceth.swapdt"], want["infiniband.atomiceth.cmpdt"] = h.SwapAdd.Get(),
			h.Compare.Get()
	}
	if i.AETH {
		want["infiniband.aeth.syndrome"], want["infiniband.aeth.msn"] = uint64(p.AETH().Syndrome),
			uint64(p.AETH().MSN.Get())
	}
	if i.Kind == wire.AtomicAck {
		want["infiniband.atomicacketh.origremdt"] = p.AtomicAck()
	}
	ext := p.Ext()
	if i.Imm {
		content["infiniband.immdt"] = hex.EncodeToString(ext[len(ext)-wire.ImmDtLen:])
	}
	if i.Inv {
		content["infiniband.ieth"] = hex.EncodeToString(ext[len(ext)-wire.ImmDtLen:])
	}
	if i.Payload && len(p.Payload()) > 0 && p.DestQP != rdmacm.QPN {
		// with the pad
		content["data.data"] = hex.EncodeToString(p.Frame[p.PayloadOff : len(p.Frame)-wire.ICRCLen])
	}
	got := map[string]uint64{}
	for _, f := range numbersOf {
		if n, there := d.number(t, f); there {
			got[f] = n
		}
	}
	require.Equal(t, want, got, about)
	gotContent := map[string]string{}
	for _, f := range append([]string{"data.data"}, bytesOf...) {
		if len(d[f]) > 0 {
			gotContent[f] = d[f][0]
		}
	}
	require.Equal(t, content, gotContent, about)
	if tci := vlanOf(p.Frame); tci >= 0 {
		id, _ := d.number(t, "vlan.id")
		priority, _ := d.number(t, "vlan.priority")
		require.EqualValues(t, tci, priority<<13|id, about)
	}
	family := "ip"
	if p.V6 {
		family = "ipv6"
	}
	require.Equal(t, []string{p.SrcIP().String()}, d[family+".src"], about)
	require.Equal(t, []string{p.DstIP().String()}, d[family+".dst"], about)
	port, _ := d.number(t, "udp.srcport")
	require.EqualValues(t, p.SrcPort, port, about)
}

func one(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// vlanOf returns the tag control information of a frame, -1 if it has none.
func vlanOf(frame []byte) int {
	if wire.View[wire.Ethernet](frame).EtherType.Get() != wire.EtherTypeVLAN {
		return -1
	}
	return int(wire.View[wire.VLAN](frame[wire.EthernetLen:]).TCI.Get())
}

// built returns the frame of a packet that no endpoint sends yet.
func built(t *testing.T, addrs [2]netip.Addr, dest wire.QPN, f wire.Fields, fill func(ext []byte),
	payload []byte) []byte {
	t.Helper()
	var tmpl wire.Template
	require.NoError(t,
		tmpl.Set(wire.Address{SrcMAC: [6]byte{2, 0, 0, 0, 0, 1}, DstMAC: [6]byte{2, 0, 0, 0, 0, 2},
			Src: addrs[0], Dst: addrs[1], SrcPort: 0xc123, DestQP: dest}))
	room := make([]byte, 9000)
	ext, total := tmpl.Build(room, f, len(payload))
	if fill != nil {
		fill(room[ext:])
	}
	copy(room[ext+int(f.Op.Info().Ext):], payload)
	tmpl.Seal(room[:total])
	return room[:total]
}

var bothFamilies = [][2]netip.Addr{
	{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")},
	{netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")},
}

// Congestion notification packets. Wireshark 4.0 dissects their BTH, but does not separate the 16
// reserved bytes and the ICRC.
func TestCNP(t *testing.T) {
	for _, addrs := range bothFamilies {
		frame := built(t, addrs, 0x17, wire.Fields{Op: wire.CNP, Flags: wire.BECN}, nil, nil)
		d := tshark(t, recordFrames(t, frame).path, fieldsOf)[0]
		require.Equal(t, hex.EncodeToString(frame[len(frame)-wire.ICRCLen-16:]),
			d[vendorData][len(d[vendorData])-1])
		delete(d, vendorData)
		d.clean(t, "CNP")
		for field, want := range map[string]uint64{"infiniband.bth.opcode": 0x81,
			"infiniband.bth.destqp": 0x17, "infiniband.bth.psn": 0} {
			n, _ := d.number(t, field)
			require.Equal(t, want, n, field)
		}
	}
}

// The communication manager's datagrams.
func TestCM(t *testing.T) {
	const flowLabel = 0x12345 // Wireshark 4.0 leaves out the lower 8 bits, also of what Linux sends
	for _, addrs := range bothFamilies {
		req := &rdmacm.REQ{
			LocalID: 0x01020304, Service: rdmacm.TCPService(7174), LocalGUID: 0x1122334455667788,
			LocalQPN: 0x11, ResponderResources: 3, InitiatorDepth: 4,
			RemoteResponseTimeout: 20, LocalResponseTimeout: 21, StartingPSN: 0xabcdef,
			RetryCount: 6, RNRRetryCount: 5, MaxCMRetries: 15, PKey: 0xffff, MTU: 5,
			Primary: rdmacm.Path{LocalLID: 0xffff, RemoteLID: 0xffff, LocalGID: addrs[0],
				RemoteGID: addrs[1], FlowLabel: flowLabel, HopLimit: 64, LocalACKTimeout: 19},
		}
		rdmacm.IPHeader{SourcePort: 0x9c3e, Source: addrs[0],
			Destination: addrs[1]}.Put(req.Private[:])
		messages := []struct {
			message rdmacm.Message
			want    map[string]uint64
		}{
			{req, map[string]uint64{"infiniband.mad.attributeid": 0x10,
				"infiniband.cm.req": 0x01020304, "infiniband.cm.req.localqpn": 0x11,
				"infiniband.cm.req.startpsn": 0xabcdef, "infiniband.cm.req.retrcount": 6,
				"infiniband.cm.req.rnrretrcount": 5, "infiniband.cm.req.maxcmretr": 15,
				"infiniband.cm.req.remoteresptout": 20, "infiniband.cm.req.localresptout": 21,
				"infiniband.cm.req.responderres": 3, "infiniband.cm.req.initdepth": 4,
				"infiniband.cm.req.pppmtu": 5, "infiniband.cm.req.prim_flowlabel": flowLabel >> 8,
				"infiniband.cm.req.prim_hoplim": 64, "infiniband.cm.req.prim_localacktout": 19,
				"infiniband.cm.req.serviceid.dport": 7174, "infiniband.cm.req.ip_cm.sport": 0x9c3e,
				"infiniband.cm.req.localcaguid": 0x1122334455667788}},
			{&rdmacm.REP{LocalID: 5, RemoteID: 6, LocalQPN: 7, StartingPSN: 8,
				ResponderResources: 9, InitiatorDepth: 10, TargetACKDelay: 15, RNRRetryCount: 7,
				LocalGUID: 11},
				map[string]uint64{"infiniband.mad.attributeid": 0x13, "infiniband.cm.rep": 5,
					"infiniband.cm.rep.remotecommid": 6, "infiniband.cm.rep.localqpn": 7,
					"infiniband.cm.rep.startpsn": 8, "infiniband.cm.rep.respres": 9,
					"infiniband.cm.rep.initdepth": 10, "infiniband.cm.rep.tgtackdelay": 15,
					"infiniband.cm.rep.rnrretrcount": 7, "infiniband.cm.rep.localcaguid": 11}},
			{&rdmacm.RTU{LocalID: 5, RemoteID: 6},
				map[string]uint64{"infiniband.mad.attributeid": 0x14,
					"infiniband.cm.rtu.localcommid": 5, "infiniband.cm.rtu.remotecommid": 6}},
			{&rdmacm.REJ{LocalID: 5, RemoteID: 6, Rejected: rdmacm.StageREP,
				Reason: rdmacm.ConsumerReject},
				map[string]uint64{"infiniband.mad.attributeid": 0x12,
					"infiniband.cm.rej.localcommid": 5, "infiniband.cm.rej.remotecommid": 6,
					"infiniband.cm.rej.msgrej": uint64(rdmacm.StageREP),
					"infiniband.cm.rej.reason": uint64(rdmacm.ConsumerReject)}},
			{&rdmacm.DREQ{LocalID: 5, RemoteID: 6, RemoteQPN: 7},
				map[string]uint64{"infiniband.mad.attributeid": 0x15,
					"infiniband.cm.dreq.localcommid": 5, "infiniband.cm.dreq.remotecommid": 6,
					"infiniband.cm.req.remoteqpneecn": 7}},
			{&rdmacm.DREP{LocalID: 5, RemoteID: 6},
				map[string]uint64{"infiniband.mad.attributeid": 0x16,
					"infiniband.cm.drsp.localcommid": 5, "infiniband.cm.drsp.remotecommid": 6}},
			{&rdmacm.MRA{}, map[string]uint64{"infiniband.mad.attributeid": 0x11}},
			{&rdmacm.LAP{}, map[string]uint64{"infiniband.mad.attributeid": 0x19}},
			{&rdmacm.APR{}, map[string]uint64{"infiniband.mad.attributeid": 0x1a}},
		}
		fields := map[string]uint64{}
		var frames [][]byte
		for _, m := range messages {
			maps.Copy(fields, m.want)
			frames = append(frames,
				built(t, addrs, rdmacm.QPN, wire.Fields{Op: wire.UDSendOnly, PSN: 3},
					func(ext []byte) {
						wire.View[wire.DETH](ext).Set(rdmacm.QKey, rdmacm.QPN)
					}, rdmacm.Append(nil, 0x77, m.message)))
		}
		for i, d := range tshark(t, recordFrames(t, frames...).path,
			append(keys(fields), "infiniband.mad.transactionid")) {
			d.clean(t, fmt.Sprintf("%T", messages[i].message))
			got := map[string]uint64{}
			for f := range fields {
				if n, there := d.number(t, f); there {
					got[f] = n
				}
			}
			require.Equal(t, messages[i].want, got, "%T", messages[i].message)
			tid, _ := d.number(t, "infiniband.mad.transactionid")
			require.EqualValues(t, 0x77, tid)
		}
	}
}

func keys(m map[string]uint64) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}
