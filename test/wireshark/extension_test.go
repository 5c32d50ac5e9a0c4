package wireshark

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

var seedFlag = flag.Uint64("seed", 0, "replay a randomized test with this seed")

// script is the path of Wireshark's dissector of the extension.
var script = []string{"-X", "lua_script:../../scripts/wireshark/goroce.lua"}

// fieldsOfExtension are the fields of that dissector.
var fieldsOfExtension = []string{
	"goroce.opcode", "goroce.version", "goroce.tlvs", "goroce.tag", "goroce.inner",
	"goroce.tlv.type", "goroce.tlv.length", "goroce.tlv.content",
	"goroce.sack.bits", "goroce.sack.map", "goroce.sack.here", "goroce.sack.missing",
	"goroce.timing.ttl", "goroce.timing.psn", "goroce.timing.residence", "goroce.timing.arrived",
	"goroce.gap.gap", "goroce.gap.away",
	"goroce.ecn.marked", "goroce.int_echo.records", "goroce.int_echo.psn", "goroce.int.filled",
	"goroce.int.fits",
	"goroce.bolt.flags", "goroce.bolt.sender", "goroce.bolt.rate", "goroce.bolt.drain",
	"goroce.bolt.ai", "goroce.bolt.inc", "goroce.bolt.dec",
	"goroce.credit.flags", "goroce.credit.epoch", "goroce.credit.lines", "goroce.credit.returned",
	"goroce.host.waited", "goroce.host.served",
	"goroce.int.port", "goroce.int.rate", "goroce.int.time", "goroce.int.sent", "goroce.int.queue",
}

// extended dissects a recording with the script.
func extended(t *testing.T, r recording, more ...string) []dissected {
	t.Helper()
	return tshark(t, r.path, slices.Concat(fieldsOfExtension, fieldsOf,
		[]string{"data.data", "vlan.id", "vlan.priority",
			"ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "udp.srcport"}, more), script...)
}

// compareExtension checks a frame of the extension, and the packet that it wraps.
func compareExtension(t *testing.T, about string, d dissected, p *wire.Packet) {
	t.Helper()
	want := map[string]string{
		"goroce.opcode":  fmt.Sprint(uint8(p.Op)),
		"goroce.version": fmt.Sprint(p.XCH().Version >> 4),
		"goroce.tlvs":    fmt.Sprint(p.XCH().TLVLen() / 4),
		"goroce.tag":     fmt.Sprint(p.XCH().Tag.Get()),
	}
	var kinds, lengths, contents []string
	for tlvs := []byte(p.TLVs()); len(tlvs) > 0; tlvs = tlvs[4*int(tlvs[1]):] {
		kinds, lengths = append(kinds, fmt.Sprint(tlvs[0])), append(lengths, fmt.Sprint(tlvs[1]))
		if k := extension.TLVType(tlvs[0]); k != extension.TLVBolt && k != extension.TLVBoltEcho &&
			k != extension.TLVSack && k != extension.TLVInt && k != extension.TLVINTEcho &&
			k != extension.TLVECNEcho &&
			k != extension.TLVTiming &&
			(k != extension.TLVGap || extension.TLVs(p.TLVs()).Gap() == nil) &&
			k != extension.TLVCredit &&
			k != extension.TLVHost {
			contents = append(contents, hex.EncodeToString(tlvs[2:4*int(tlvs[1])]))
		}
	}
	set := func(field string, values []string) {
		if len(values) > 0 {
			want[field] = strings.Join(values, ";")
		}
	}
	set("goroce.tlv.type", kinds)
	set("goroce.tlv.length", lengths)
	set("goroce.tlv.content", contents)
	if s := extension.TLVs(p.TLVs()).SACK(); s != nil {
		want["goroce.sack.bits"], want["goroce.sack.map"] = fmt.Sprint(s.Len()),
			hex.EncodeToString(s[4:])
		here, missing := said(s, p.PSN)
		set("goroce.sack.here", here)
		set("goroce.sack.missing", missing)
	}
	if x := extension.TLVs(p.TLVs()).Timing(); x != nil {
		want["goroce.timing.ttl"], want["goroce.timing.psn"] = fmt.Sprint(x.TTL()),
			fmt.Sprintf("0x%06x", uint32(wire.PSN(x.PSN())))
		want["goroce.timing.residence"] = fmt.Sprint(int64(x.Residence() / units.Nanosecond))
		want["goroce.timing.arrived"] = fmt.Sprint(int64(x.Arrived() / units.Nanosecond))
	}
	if g := extension.TLVs(p.TLVs()).Gap(); g != nil {
		want["goroce.gap.gap"],
			want["goroce.gap.away"] = fmt.Sprint(int64(g.Gap()/units.Nanosecond)),
			fmt.Sprint(int64(g.Away()/units.Nanosecond))
	}
	if c := extension.TLVs(p.TLVs()).Credit(); c != nil {
		want["goroce.credit.flags"] = fmt.Sprint(uint8(c.Flags()))
		want["goroce.credit.epoch"], want["goroce.credit.lines"] = fmt.Sprint(c.Epoch()),
			fmt.Sprint(c.Lines())
		want["goroce.credit.returned"] = fmt.Sprint(c.Returned())
	}
	if h := extension.TLVs(p.TLVs()).Host(); h != nil {
		waited, served, _ := h.Residence()
		want["goroce.host.waited"],
			want["goroce.host.served"] = fmt.Sprint(int64(waited/units.Nanosecond)),
			fmt.Sprint(int64(served/units.Nanosecond))
	}
	if e := extension.TLVs(p.TLVs()).ECNEcho(); e != nil {
		want["goroce.ecn.marked"] = fmt.Sprint(e.Marked())
	}
	records := func(count int, record func(int) extension.INTRecord) {
		var ports, rates, times, sent, queues []string
		for n := range count {
			r := record(n)
			ports, rates = append(ports, fmt.Sprint(r.Port)), append(rates,
				fmt.Sprint(int64(r.Rate/(100*units.Mbps))))
			times, sent = append(times, fmt.Sprint(int64(r.Time.Sub(0)/units.Nanosecond))),
				append(sent, fmt.Sprint(int64(r.Sent)))
			queues = append(queues, fmt.Sprint(int64(r.Queue)))
		}
		for field, values := range map[string][]string{"port": ports, "rate": rates, "time": times,
			"sent": sent, "queue": queues} {
			set("goroce.int."+field, values)
		}
	}
	if i := extension.TLVs(p.TLVs()).INT(); i != nil {
		want["goroce.int.filled"], want["goroce.int.fits"] = fmt.Sprint(i.Filled()),
			fmt.Sprint(i.Fits())
		records(i.Filled(), i.Record)
	}
	if x := extension.TLVs(p.TLVs()).INTEcho(); x != nil {
		want["goroce.int_echo.records"], want["goroce.int_echo.psn"] = fmt.Sprint(x.Records()),
			fmt.Sprintf("0x%06x", uint32(wire.PSN(x.PSN())))
		records(x.Records(), x.Record)
	}
	report := func(r extension.QueueReport) {
		want["goroce.bolt.rate"],
			want["goroce.bolt.drain"] = fmt.Sprint(int64(r.Rate/(100*units.Mbps))),
			fmt.Sprint(int64(r.Drain/units.Nanosecond))
	}
	if x := extension.TLVs(p.TLVs()).Bolt(); x != nil {
		want["goroce.bolt.flags"], want["goroce.bolt.sender"] = fmt.Sprint(uint8(x.Flags())),
			fmt.Sprintf("0x%06x", uint32(wire.QPN(x.Sender())))
		report(x.Report())
	}
	if x := extension.TLVs(p.TLVs()).BoltEcho(); x != nil {
		c := x.Counts()
		want["goroce.bolt.ai"], want["goroce.bolt.inc"], want["goroce.bolt.dec"] = fmt.Sprint(c.AI),
			fmt.Sprint(c.INC), fmt.Sprint(c.DEC)
		report(c.Report)
	}
	if p.Op == wire.SRC {
		report(extension.Report(p.Body()))
	}
	if p.Op == wire.XDATA {
		want["goroce.inner"] = fmt.Sprint(uint8(p.Inner()))
	}
	got := map[string]string{}
	for _, f := range fieldsOfExtension {
		if len(d[f]) > 0 {
			got[f] = strings.Join(decimal(d[f]), ";")
		}
	}
	require.Equal(t, want, got, about)
	if p.Op == wire.SRC || p.Op == wire.CREDIT { // they wrap no packet
		return
	}
	inner := unwrapped(t, p)
	compare(t, about, d, &inner)
}

// decimal writes hexadecimal numbers as decimal ones.
func decimal(values []string) (all []string) {
	for _, v := range values {
		if n, err := strconv.ParseUint(v, 0, 64); err == nil && strings.HasPrefix(v, "0x") &&
			len(v) < 8 {
			v = fmt.Sprint(n)
		}
		all = append(all, v)
	}
	return all
}

// said returns the dissector's text for a SACK in an ACK with this PSN.
func said(s extension.SACK, acked wire.PSN) (here, missing []string) {
	var in, out []wire.PSN
	out = append(out, acked.Add(1))
	for i := range s.Top() {
		if psn := acked.Add(uint32(2 + i)); s.Bits(i/32)>>(i%32)&1 == 1 {
			in = append(in, psn)
		} else {
			out = append(out, psn)
		}
	}
	return ranges(in), ranges(out)
}

func ranges(psns []wire.PSN) []string {
	var words []string
	for i := 0; i < len(psns); {
		j := i
		for j+1 < len(psns) && psns[j+1] == psns[j].Add(1) {
			j++
		}
		word := fmt.Sprintf("0x%06x", uint32(psns[i]))
		if j > i {
			word += fmt.Sprintf("..0x%06x", uint32(psns[j]))
		}
		words, i = append(words, word), j+1
	}
	if len(words) == 0 {
		return nil
	}
	return []string{strings.Join(words, ", ")}
}

// unwrapped returns the packet wrapped by a packet of the extension, with the ICRC of the outer
// one, which is wrong for it.
func unwrapped(t *testing.T, p *wire.Packet) (inner wire.Packet) {
	t.Helper()
	bth := int(p.BTHOff)
	from, op := int(p.ExtOff), p.Inner()
	end := len(p.Frame)
	frame := slices.Clone(p.Frame[:bth+wire.BTHLen])
	if p.Op == wire.XACK {
		op = wire.RCAck
		frame = append(frame, p.Ext()[:wire.AETHLen]...)
		frame = append(frame, p.Frame[end-wire.ICRCLen:]...)
	} else {
		frame = append(frame, p.Frame[from:]...)
	}
	frame[bth] = uint8(op)
	less := uint16(end - len(frame))
	wire.View[wire.UDP](frame[bth-wire.UDPLen:]).Len.Set(p.UDP().Len.Get() - less)
	if p.V6 {
		wire.View[wire.IPv6](frame[p.L3:]).PayloadLen.Set(p.IPv6().PayloadLen.Get() - less)
	} else {
		ip := wire.View[wire.IPv4](frame[p.L3:])
		ip.TotalLen.Set(p.IPv4().TotalLen.Get() - less)
		ip.UpdateChecksum()
	}
	require.NoError(t, inner.Parse(frame))
	return inner
}

// On a connection with selective repeat and loss, Wireshark must show of every XACK what the
// requester parses, and all other packets as without the script.
func TestSelectiveRepeat(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, f.addrs, f.vlan,
				packet.FaultOptions{Seed: 1, Send: packet.FaultRates{Lose: 0.1}})
			x, y := p.connected(transport.RC, 256, true)
			for _, op := range []transport.Op{transport.OpWrite, transport.OpRead,
				transport.OpSend} {
				if op == transport.OpSend {
					y.recv(p, 50000)
				}
				require.Equal(t, transport.StatusSuccess,
					x.send(p, transport.WorkRequest{Op: op,
						SGList:     []transport.SGE{x.mr.SGE(0, 50000)},
						RemoteAddr: y.mr.Addr, RKey: y.mr.RKey}))
			}
			frames := p.recorded.frames(t)
			found := extended(t, p.recorded)
			require.Len(t, found, len(frames))
			xacks, gaps := 0, 0
			for i, d := range found {
				about := fmt.Sprintf("frame %d: %x", i+1, frames[i][:min(len(frames[i]), 120)])
				d.clean(t, about)
				var pkt wire.Packet
				switch {
				case pkt.Parse(frames[i]) != nil: // not RoCEv2
				case pkt.Op == wire.XACK:
					compareExtension(t, about, d, &pkt)
					xacks++
					gaps += len(d["goroce.sack.missing"])
				default:
					compare(t, about, d, &pkt)
					require.NotContains(t, d, "goroce.opcode")
				}
			}
			require.Greater(t, xacks, 10)
			require.Positive(t, gaps)
		})
	}
}

// anXDATA returns a frame that wraps a packet, with an INT for up to room records; none if 0.
func anXDATA(t *testing.T, addrs [2]netip.Addr, inner wire.Opcode, records, payload int) []byte {
	t.Helper()
	tlvs := 0
	if records > 0 {
		tlvs = extension.INTLen(records)
	}
	behind := make([]byte, tlvs+int(inner.Info().Ext)+payload)
	if records > 0 {
		extension.INT(behind[:tlvs]).Init(records)
	}
	for i := range behind[tlvs:] {
		behind[tlvs+i] = byte(i*3 + 5)
	}
	return built(t, addrs, 0x1234, wire.Fields{Op: wire.XDATA, Flags: wire.AckReq, PSN: 0xfffffe},
		func(ext []byte) {
			wire.View[wire.XCH](ext).Set(0xbeef, tlvs)
			wire.SetInner(ext[wire.XCHLen:], inner)
		}, behind)
}

// anXACK returns an XACK with given TLVs.
func anXACK(t *testing.T, addrs [2]netip.Addr, psn wire.PSN, tlvs []byte) []byte {
	t.Helper()
	return built(t, addrs, 0x1234, wire.Fields{Op: wire.XACK, PSN: psn}, func(ext []byte) {
		wire.View[wire.XCH](ext).Set(0xbeef, len(tlvs))
		wire.View[wire.AETH](ext[wire.XCHLen:]).Set(wire.SyndromeAck, 77)
	}, tlvs)
}

// Telemetry written by switches, around every kind of packet, and XACKs that no endpoint sends yet.
func TestTelemetry(t *testing.T) {
	var frames [][]byte
	for _, addrs := range bothFamilies {
		for op := range wire.Manufacturer {
			if i := op.Info(); !i.Valid || i.Kind == wire.CNPKind {
				continue
			}
			records := int(op) % (extension.MaxINTRecords + 1)
			payload := 0
			if op.Info().Payload {
				payload = 41
			}
			frame := anXDATA(t, addrs, op, records, payload)
			for i := range records / 2 {
				require.True(t,
					extension.Stamp(wire.SwitchTLV(frame),
						extension.INTRecord{Port: uint16(op)<<8 | uint16(i),
							Rate: units.BitRate(i+1) * 100 * units.Gbps,
							Time: units.Time(0).Add(units.Duration(i) * 1234567 * units.Nanosecond),
							Sent: 1<<32 - 1, Queue: units.Bytes(1000 * i)}))
			}
			frames = append(frames, frame)
		}
		sack := extension.SACK(make([]byte, extension.SACKLen(extension.MaxSACKBits)))
		sack.Init(extension.MaxSACKBits)
		sack.SetBits(0, 0b1011)
		sack.SetBits(15, 1<<31|1<<30)
		timing := extension.Timing(make([]byte, extension.TimingLen))
		timing.Set(uint32(0xfffffe), 61, 123456*units.Nanosecond, units.Time(0).Add(5*units.Second))
		gap := extension.Gap(make([]byte, extension.GapLen))
		gap.Set(20*units.Microsecond, 300*units.Nanosecond)
		longest := extension.Gap(make([]byte, extension.GapLen))
		longest.Set(units.Forever, 5*units.Second)
		frames = append(frames, anXACK(t, addrs, 9, slices.Concat([]byte(timing), gap)),
			anXACK(t, addrs, 10, longest))
		skipped := []byte{0x80, 1, 2, 3}
		echo := extension.ECNEcho(make([]byte, extension.ECNEchoLen))
		echo.Set(1<<32 - 2)
		frames = append(frames, anXACK(t, addrs, 7, echo))
		stamped := anXDATA(t, addrs, wire.RCSendOnly, 3, 8)
		for i := range 2 {
			require.True(t,
				extension.Stamp(wire.SwitchTLV(stamped),
					extension.INTRecord{Port: uint16(i), Rate: 400 * units.Gbps,
						Sent: 12345, Queue: 678}))
		}
		var brought wire.Packet
		require.NoError(t, brought.Parse(stamped))
		back := extension.INTEcho(make([]byte, extension.INTEchoLen(2)))
		back.Set(extension.TLVs(brought.TLVs()).INT(), uint32(0xfffffe))
		frames = append(frames, anXACK(t, addrs, 8, back))
		frames = append(frames,
			anXACK(t, addrs, 0xfffffc, slices.Concat([]byte(timing), sack, skipped,
				[]byte{0, 1, 0, 0})), anXACK(t, addrs, 5, nil))
	}
	for i, d := range extended(t, recordFrames(t, frames...)) {
		about := fmt.Sprintf("frame %d: %x", i+1, frames[i])
		var p wire.Packet
		require.NoError(t, p.Parse(frames[i]))
		d.clean(t, about)
		compareExtension(t, about, d, &p)
	}
}

// Flags of Bolt, their echoes, and reports of switches.
func TestBolt(t *testing.T) {
	var frames [][]byte
	for _, addrs := range bothFamilies {
		flags := extension.Bolt(make([]byte, extension.BoltLen))
		flags.Set(extension.BoltINC|extension.BoltAI, uint32(0x123456))
		data := built(t, addrs, 0x1234, wire.Fields{Op: wire.XDATA, PSN: 7}, func(ext []byte) {
			wire.View[wire.XCH](ext).Set(0xbeef, extension.BoltLen)
			wire.SetInner(ext[wire.XCHLen:], wire.RCSendOnly)
		}, slices.Concat(flags, []byte("some payload")))
		report := extension.QueueReport{Drain: 2345 * units.Nanosecond, Rate: 400 * units.Gbps}
		src := wire.BuildSRC(make([]byte, 128), data, 0xe0, report.Bytes())
		queued := slices.Clone(data)
		extension.AsBolt(wire.SwitchTLV(queued)).Congest(report)
		echo := extension.BoltEcho(make([]byte, extension.BoltEchoLen))
		echo.Set(extension.BoltCounts{AI: 3, INC: 1<<32 - 2, DEC: 5, Report: report})
		frames = append(frames, data, queued, src, anXACK(t, addrs, 7, echo))
	}
	for i, d := range extended(t, recordFrames(t, frames...)) {
		about := fmt.Sprintf("frame %d: %x", i+1, frames[i])
		var p wire.Packet
		require.NoError(t, p.Parse(frames[i]))
		d.clean(t, about)
		compareExtension(t, about, d, &p)
	}
}

// The dissector must report exactly the frames that wire drops: frames with random changes in the
// header and the TLVs of the extension.
func TestErrors(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	sack := extension.SACK(make([]byte, extension.SACKLen(64)))
	sack.Init(64)
	sack.SetBits(0, 5)
	base := [][]byte{
		anXACK(t, bothFamilies[0], 9, slices.Concat(sack, []byte{0x81, 1, 0, 0, 0, 1, 0, 0})),
		anXACK(t, bothFamilies[1], 9, slices.Concat([]byte(aCreditTLV(extension.CreditIdle)),
			aHostTLV())), aCredit(t, 0),
		anXDATA(t, bothFamilies[1], wire.RCSendOnly, 2, 64), anXDATA(t, bothFamilies[0],
			wire.RCSendOnly, 0, 64),
	}
	var frames [][]byte
	var wrong []bool
	for len(frames) < 600 {
		frame := slices.Clone(base[rng.IntN(len(base))])
		var p wire.Packet
		require.NoError(t, p.Parse(frame))
		area := frame[int(p.BTHOff)+wire.BTHLen:][:wire.XCHLen+wire.InnerLen+p.XCH().TLVLen()]
		for range rng.IntN(3) {
			area[rng.IntN(len(area))] = []byte{0, 1, 2, 3, 4, 5, 7, 8, 10, 0x10, 0x20, 0x80, 0x81,
				0xff}[rng.IntN(14)]
		}
		switch err := p.Parse(frame); {
		case err == nil || errors.Is(err, wire.ErrExtension) || errors.Is(err, wire.ErrLength) &&
			p.Op == wire.XACK:
			frames, wrong = append(frames, frame), append(wrong, err != nil)
		}
	}
	require.Contains(t, wrong, false)
	counts := map[string]int{}
	for i, d := range extended(t, recordFrames(t, frames...)) {
		said := slices.Contains(d[severity], strconv.Itoa(severityError))
		require.Equal(t, wrong[i], said, "frame %x: %v", frames[i], d[remark])
		for _, m := range d[remark] {
			counts[m]++
		}
	}
	t.Log(counts)
}

// A capture of the first bytes of each frame must be dissected as far as possible, without errors.
func TestCutFrames(t *testing.T) {
	sack := extension.SACK(make([]byte, extension.SACKLen(64)))
	sack.Init(64)
	sack.SetBits(0, 5)
	frames := [][]byte{anXACK(t, bothFamilies[0], 9, sack),
		anXDATA(t, bothFamilies[0], wire.RCWriteOnly, 2, 64)}
	// of the XACK 58 to 62 are AETH, 62 to 74 the SACK, 78 all
	for _, n := range []int{43, 60, 68, 77} {
		for i, d := range extended(t, recordStarts(t, n, frames...)) {
			for _, s := range d[severity] {
				require.NotEqual(t, strconv.Itoa(severityError), s, "%d bytes of frame %d: %v", n,
					i, d[remark])
			}
			require.Len(t, d["goroce.opcode"], 1)
			require.Equal(t, n >= 62, len(d["goroce.tag"]) == 1)
			require.Equal(t, i == 0 && n >= 74, len(d["goroce.sack.here"]) == 1)
		}
	}
}

// Each error by its name, and remarks that are not errors.
func TestRemarks(t *testing.T) {
	addrs := bothFamilies[0]
	xack := func(tlvs ...byte) []byte { return anXACK(t, addrs, 9, tlvs) }
	put := func(frame []byte, at int, b ...byte) []byte { // counted from the BTH
		copy(frame[wire.EthernetLen+wire.IPv4Len+wire.UDPLen+at:], b)
		return frame
	}
	send := func() []byte { return anXDATA(t, addrs, wire.RCSendOnly, 1, 8) }
	timing := append([]byte{byte(extension.TLVTiming), 4}, make([]byte, 14)...)
	short := built(t, addrs, 1, wire.Fields{Op: wire.RCSendOnly}, nil, []byte{1, 2, 3, 4})
	cases := []struct {
		name  string
		frame []byte
		says  string
		level int
	}{
		{"SRC with something behind it", put(xack(0, 1, 0, 0), 0, 0xc7),
			"SRC with TLVs, or of a wrong length", severityError},
		{"BOLT of a wrong length", put(send(), 20, 8), "BOLT or BOLT_ECHO of a wrong length",
			severityError},
		{"BOLT in an XACK", xack(8, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), "TLV that has no place here",
			severityError},
		{"BOLT_ECHO in an XDATA", put(send(), 20, 10), "TLV that has no place here", severityError},
		{"an opcode to come", put(xack(), 0, 0xdf), "Opcode that is kept for the extension",
			severityError},
		{"another version", put(xack(), 12, 0x20), "Version that this dissector does not know",
			severityError},
		{"no room", put(short, 0, 0xc5), "Packet too short for the extension", severityError},
		{"more TLVs than there is room for", put(xack(0, 1, 0, 0), 13, 3),
			"TLVs longer than they may be, or than the packet", severityError},
		{"bytes behind", put(xack(0, 1, 0, 0), 13, 0), "Bytes behind the TLVs of an XACK",
			severityError},
		{"a TLV of length 0", xack(0, 0, 0, 0), "TLV that does not fit its area", severityError},
		{"a type twice", xack(slices.Concat(timing, timing)...), "TLV that comes twice",
			severityError},
		{"a type that must be known", xack(0x7f, 1, 0, 0), "Unknown TLV that may not be skipped",
			severityError},
		{"a type that may be skipped", xack(0x80, 1, 0, 0), "Unknown TLV, to be skipped",
			severityNote},
		{"a GAP of another length, a later version's", xack(0x8c, 1, 0, 0),
			"Unknown TLV, to be skipped", severityNote},
		{"INT in an XACK", xack(3, 1, 0, 0), "TLV that has no place here", severityError},
		{"an INT_ECHO that does not hold its records", xack(4, 2, 1, 0, 0, 0, 0, 0),
			"INT whose length does not match its records", severityError},
		{"a short ECN_ECHO", xack(9, 1, 0, 0), "ECN_ECHO of a wrong length", severityError},
		{"a short TIMING", xack(1, 1, 0, 0), "TIMING of a wrong length", severityError},
		{"SACK of 31 bits", xack(2, 2, 0, 31, 0x80, 0, 0, 0),
			"SACK whose bits are not 32 to 512, in steps of 32, or not its length", severityError},
		{"SACK without a bit", xack(2, 2, 0, 32, 0, 0, 0, 0), "SACK without a bit",
			severityWarning},
		{"INT with more records than fit", put(send(), 22, 2),
			"INT whose length does not match its records", severityError},
		{"credit of a wrong length", xack(5, 1, 0, 0),
			"CREDIT of a wrong length, or not alone in a packet of its own", severityError},
		{"credit in an XDATA", put(send(), 20, 5), "TLV that has no place here", severityError},
		{"host of a wrong length", xack(7, 1, 0, 1), "HOST of a wrong length", severityError},
		{"CREDIT of something else", put(aCredit(t, 0), 16, 1),
			"CREDIT of a wrong length, or not alone in a packet of its own", severityError},
		{"CREDIT with more", put(aCredit(t, 0), 13, 5),
			"CREDIT of a wrong length, or not alone in a packet of its own", severityError},
		{"inner CNP", put(send(), 16, 0x81), "No opcode to wrap", severityError},
	}
	var frames [][]byte
	for _, c := range cases {
		frames = append(frames, c.frame)
	}
	for i, d := range extended(t, recordFrames(t, frames...)) {
		c := cases[i]
		require.Equal(t, []string{c.says}, d[remark], c.name)
		require.Equal(t, []string{strconv.Itoa(c.level)}, d[severity], c.name)
	}
}

// The example of docs/wire.md.
func TestWorkedExample(t *testing.T) {
	frame, err := hex.DecodeString("0200000000020200000000010800" +
		"4500004c00004000401126050a4d00010a4d0002" + "c28612b700380000" +
		"c500ffff0000002200100003" + "10061234" + "1f000002" + "02020020b0000000" +
		"01043e0110000801" + "00000352" + "01020304" + "1b1cbc92")
	require.NoError(t, err)
	require.EqualValues(t, 0x0800, binary.BigEndian.Uint16(frame[12:]))
	d := extended(t, recordFrames(t, frame), "_ws.col.Protocol", "_ws.col.Info")[0]
	d.clean(t, "the example")
	require.Equal(t, []string{"0x100005, 0x100007..0x100008"}, d["goroce.sack.here"])
	require.Equal(t, []string{"0x100004, 0x100006"}, d["goroce.sack.missing"])
	require.Equal(t, []string{"goroce"}, d["_ws.col.Protocol"])
	require.Regexp(t, "^XACK RC Acknowledge", d["_ws.col.Info"][0])
}
