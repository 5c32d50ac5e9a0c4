package taurus

import (
	"bytes"
	"errors"
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// probing is how probes come to be sent.
type probing struct {
	Packets uint16         // beside every packet of that number
	Every   units.Duration // or the first after so long; neither: on command
	Probes  int
}

// probes: what a NIC makes of responses that come twice, late or never, and of segments of packets.
var probes = &experiment.Experiment{
	ID:    "taurus/sec3.3-probe",
	Seeds: oneSeed,
	Cells: func(experiment.Scale) []experiment.Cell {
		return []experiment.Cell{
			{Name: "each 4 packets", Params: probing{Packets: 4, Probes: 40_000}},
			{Name: "each 1 us", Params: probing{Every: us, Probes: 40_000}},
			{Name: "on command", Params: probing{Probes: 20_000}},
		}
	},
	Run: func(j *experiment.Job) error {
		p := j.Params.(probing)
		if p.Packets > 0 || p.Every > 0 {
			return besideData(j, p)
		}
		if err := onCommand(j, p.Probes); err != nil {
			return err
		}
		return segments(j)
	},
	Judge: func(r *experiment.Results) {
		r.Claim("no-reversal", r.Values("reversals").Sum())
		r.Note("no-reversal", "of %.0f probes %.0f round trips were heard, %.0f responses "+
			"dropped: %.0f that came back after a newer one, the others twice",
			r.Values("sent").Sum(), r.Values("heard").Sum(), r.Values("dropped").Sum(),
			r.Values("late").Sum())
		cut := r.Cell("on command")
		r.Claim("segment", experiment.With("bytes_per_event_minus_length", cut.Values("beyond")[0]).
			With("mismatches", cut.Values("mismatches")[0]))
		r.Note("segment", "%.0f segments of %.0f B, of acknowledgements of %.0f B",
			cut.Values("segments")[0], cut.Values("length")[0], cut.Values("frame")[0])
		r.Claim("wire-size", r.Values("field").Max())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.CDF("rtt", "Round trips heard: links that lose 5 %, repeat 5 % and hold 20 % "+
			"back for up to 10 µs", "round trip (µs)")
		r.Distributions(p, "rtt", 1e6)
		return []figure.Figure{p}
	},
}

// probeLink is each of the three links that probes take.
var probeLink = fabric.Link{Rate: 400 * gbps, Delay: us}

// twoHosts is two hosts behind a switch each.
func twoHosts(control cc.Factory) sim.Scenario {
	return sim.Scenario{
		Topology: sim.Dumbbell(1, 1, probeLink, probeLink),
		Scheme:   sim.Scheme{Control: control, Switch: fabric.SwitchConfig{INT: true}},
	}
}

// spoil has both ways lose, repeat and reorder.
func spoil(net *fabric.Network) error {
	for _, h := range net.Hosts() {
		if err := h.NIC().Ports()[0].SetFaults(fabric.LinkFaults{Lose: 0.05, Duplicate: 0.05,
			Reorder: 0.2}); err != nil {
			return err
		}
	}
	return nil
}

// newest records the round trips of probes that returned, and counts those of probes that left
// before an earlier result's.
type newest struct {
	j         *experiment.Job
	left      units.Time
	received  int
	reversals int
}

func (n *newest) receive(delay units.Duration, now units.Time) {
	left := now.Add(-delay)
	if n.received++; n.received > 1 && !left.After(n.left) {
		n.reversals++
	}
	n.left = left
	if n.received%20 == 0 {
		n.j.Value("rtt", delay.Seconds())
	}
}

// besideData has a NIC's collector attach probes to packets that leave at 400 Gb/s. No data
// crosses the network: the fields travel in PROBEs and return in PROBE_ACKs.
func besideData(j *experiment.Job, p probing) error {
	nic, err := openFlows(1, nicoffload.Binding{}, nicoffload.Immediate, 0)
	if err != nil {
		return err
	}
	received := &newest{j: j}
	agent, err := agentOf(nic,
		&listener{events: cc.Events(cc.RTT), on: func(ev *cc.Event, now units.Time) cc.Decision {
			received.receive(ev.Delay, now)
			return cc.Decision{Window: mtu}
		}}, nicoffload.Binding{Events: cc.Events(cc.RTT), ProbePackets: p.Packets,
			ProbeEvery: p.Every})
	if err != nil {
		return err
	}
	agent.Poll(0)
	net := fabric.Dumbbell(fabric.Parts{Config: fabric.Config{Seed: j.Seed}}, 1, 1, probeLink,
		probeLink)
	if err := net.Build(); err != nil {
		return err
	}
	if err := spoil(net); err != nil {
		return err
	}
	from, to := &prober{Host: net.Host(0), nic: nic, agent: agent, left: p.Probes},
		&prober{Host: net.Host(1)}
	for _, err := range []error{from.address(to.Host), to.address(from.Host)} {
		if err != nil {
			return err
		}
	}
	from.Run(from)
	to.Run(to)
	for from.left > 0 {
		if err := net.Run(net.Now().Add(ms)); err != nil {
			return err
		}
	}
	if err := net.Run(net.Now().Add(ms)); err != nil {
		return err
	}
	j.Value("sent", float64(p.Probes))
	j.Value("heard", float64(received.received))
	j.Value("reversals", float64(received.reversals))
	j.Value("dropped", float64(nic.Counters().ProbesLate))
	j.Value("late", float64(from.late))
	j.Value("field", float64(to.field))
	return errors.Join(from.err, to.err)
}

// prober is a host that sends probes, or replies to them.
type prober struct {
	*fabric.Host
	template wire.Template
	nic      *nicoffload.NIC // of one that sends
	agent    *nicoffload.Agent
	psn      uint32
	next     units.Time // when a packet leaves
	left     int        // probes to send
	in       [packet.Burst]packet.Buf
	out      [1]packet.Buf
	parsed   wire.Packet
	err      error

	newest units.Duration // when the newest probe left of those that were answered
	late   int            // replies that arrived after a newer one's
	field  int            // bytes of a PROBE behind its headers
}

func (p *prober) address(peer *fabric.Host) error {
	return p.template.Set(wire.Address{
		SrcMAC: p.NIC().Info().MAC, DstMAC: peer.NIC().Info().MAC, Src: p.Addrs()[0].Addr(),
		Dst: peer.Addrs()[0].Addr(), SrcPort: 0xc000, DestQP: 2,
	})
}

// Poll implements fabric.Poller.
func (p *prober) Poll(now units.Time) units.Time {
	for n := p.NIC().Recv(p.in[:]); n > 0; n = p.NIC().Recv(p.in[:]) {
		for i := range n {
			if err := p.parsed.Parse(p.in[i].Data()); err != nil {
				p.err = err
				continue
			}
			p.receive(now)
		}
		p.NIC().Free(p.in[:n])
	}
	if p.left == 0 {
		return now.Add(units.Forever)
	}
	for ; !p.next.After(now); p.next = p.next.Add((400 * gbps).Duration(mtu)) {
		var field [extension.ProbeLen]byte
		if p.psn++; p.nic.Sent(0, &nicoffload.Packet{PSN: p.psn, Bytes: mtu}, field[:], now) &&
			p.left > 0 {
			p.left--
			p.send(wire.Probe, func(body []byte) { copy(body, field[:]) })
		}
	}
	return p.next
}

func (p *prober) receive(now units.Time) {
	switch p.parsed.Op {
	case wire.Probe:
		p.field = len(p.parsed.Ext()) - wire.XCHLen
		field := extension.ProbeField(p.parsed.Body())
		p.send(wire.ProbeAck, func(body []byte) {
			extension.ProbeEcho(body).Set(field, 0, now, p.parsed.TTL(), p.parsed.TOS())
		})
	case wire.ProbeAck:
		field := extension.ProbeEcho(p.parsed.Body()).Field()
		if field.Left() < p.newest {
			p.late++
		}
		p.newest = max(p.newest, field.Left())
		p.nic.Received(0, &nicoffload.Packet{Type: nicoffload.PacketProbe, Probe: field}, now)
		p.agent.Poll(now)
	}
}

func (p *prober) send(op wire.Opcode, body func([]byte)) {
	nic := p.NIC()
	if nic.Alloc(p.out[:]) == 0 {
		return
	}
	frame := p.out[0].Room()
	ext, total := p.template.Build(frame, wire.Fields{Op: op}, 0)
	wire.View[wire.XCH](frame[ext:]).Set(1, 0)
	body(frame[ext+wire.XCHLen : total-wire.ICRCLen])
	p.template.Seal(frame[:total])
	if p.out[0].SetLen(total); nic.Send(packet.ClassControl, p.out[:]) == 0 {
		nic.Free(p.out[:])
	}
}

// onCommand has the transport send a probe as soon as the one before was answered, or is lost.
func onCommand(j *experiment.Job, n int) error {
	received := &newest{j: j}
	sent := 1
	asks := &listener{events: cc.Events(cc.RTT, cc.RTO), first: cc.Decision{Hold: true, Window: mtu,
		ProbeAt: 1}}
	asks.on = func(ev *cc.Event, now units.Time) cc.Decision {
		d := asks.first
		if ev.Probe {
			if ev.Kind == cc.RTT {
				received.receive(ev.Delay, now)
			}
			sent++
			d.ProbeAt = now
		}
		return d
	}
	s := twoHosts(control{asks})
	s.Seed, s.Hosts.Cold, s.Step = j.Seed, true, 10*ms
	s.Scheme.Controller = func(int, units.Time) (cc.Controller, error) {
		return nicoffload.NewShared(nicoffload.Config{}, nicoffload.AgentConfig{}, nil, 0)
	}
	s.Probes.Attach = func(s *sim.Simulation) {
		if err := errors.Join(s.Warm(0, 1), spoil(s.Net)); err != nil {
			s.Errors = append(s.Errors, err)
		}
	}
	s.Over = func(*sim.Simulation, units.Duration) bool { return sent >= n }
	r, err := s.Run(j.Context())
	if err != nil {
		return err
	}
	j.Value("sent", float64(sent))
	j.Value("heard", float64(received.received))
	j.Value("reversals", float64(received.reversals))
	j.Value("dropped", float64(r.Simulation.Nodes[0].Endpoint.Stats().DropStaleProbe))
	j.Value("late", 0)
	return nil
}

// segmentID names the segment that is cut.
const segmentID = nicoffload.FirstCustom

// segments lets a flow of HPCC cross switches that stamp its packets, and has a collector beside
// its sender cut the echo of that out of acknowledgements. What the agent's parser reads is
// compared with what the packets had when they arrived.
func segments(j *experiment.Job) error {
	nic, err := openFlows(1, nicoffload.Binding{}, nicoffload.Immediate, 0)
	if err != nil {
		return err
	}
	agent, err := agentOf(nic,
		&listener{events: cc.Events(cc.CST), on: func(*cc.Event, units.Time) cc.Decision {
			return cc.Decision{Window: mtu}
		}},
		nicoffload.Binding{Events: cc.Events(cc.CST)})
	if err != nil {
		return err
	}
	agent.Poll(0)
	hpcc, err := cc.Parse("hpcc")
	if err != nil {
		return err
	}
	stamped := map[wire.PSN][]extension.INTRecord{}
	cut, received, mismatches, beyond := nicoffload.Extraction{ID: segmentID,
		Packet: nicoffload.PacketAck}, 0, 0, 0
	frame := 0
	arrived := func(p *wire.Packet, _ units.Time) {
		if t := extension.TLVs(p.TLVs()).INT(); t != nil {
			stamped[p.PSN] = records(t.Filled(), t.Record)
		}
	}
	acknowledged := func(p *wire.Packet, now units.Time) {
		echo := extension.TLVs(p.TLVs()).INTEcho()
		if echo == nil {
			return
		}
		behind := p.Frame[int(p.BTHOff)+wire.BTHLen:]
		if cut.Length == 0 { // where it is, is the same from the first on
			cut.Length, frame = uint16(len(echo)), len(p.Frame)
			cut.Offset = uint16(bytes.Index(behind, echo))
			if err = nic.Extract(cut); err != nil {
				return
			}
		}
		nic.Received(0, &nicoffload.Packet{Type: nicoffload.PacketAck, PSN: uint32(p.PSN),
			Segment: behind}, now)
		agent.Poll(now)
	}
	if err := agent.Parse(segmentID, func(segment []byte, _ *cc.Event) error {
		received++
		beyond = max(beyond, abs(len(segment)-int(cut.Length)))
		echo := extension.INTEcho(segment)
		if !slices.Equal(records(echo.Records(), echo.Record), stamped[wire.PSN(echo.PSN())]) {
			mismatches++
		}
		return nil
	}); err != nil {
		return err
	}
	s := twoHosts(hpcc)
	s.Seed, s.Hosts.Cold, s.Until = j.Seed, true, 2*ms
	s.Hosts.Wrap = func(host int, p packet.Port) packet.Port {
		return &tap{Port: p, receive: []func(*wire.Packet, units.Time){acknowledged, arrived}[host]}
	}
	s.Workload.Flows = []sim.Flow{{From: 0, To: 1, Bytes: 40_000_000}}
	_, ran := s.Run(j.Context())
	if err := errors.Join(ran, err); err != nil {
		return err
	}
	j.Value("segments", float64(received))
	j.Value("mismatches", float64(mismatches))
	j.Value("beyond", float64(beyond))
	j.Value("length", float64(cut.Length))
	j.Value("frame", float64(frame))
	return nil
}

func records(n int, at func(int) extension.INTRecord) (all []extension.INTRecord) {
	for i := range n {
		all = append(all, at(i))
	}
	return all
}

func abs(n int) int { return max(n, -n) }

// tap observes the packets that a port receives.
type tap struct {
	packet.Port
	parsed  wire.Packet
	receive func(p *wire.Packet, now units.Time)
}

// Recv implements packet.Port.
func (t *tap) Recv(bufs []packet.Buf) int {
	n := t.Port.Recv(bufs)
	for i := range n {
		if t.parsed.Parse(bufs[i].Data()) == nil {
			t.receive(&t.parsed, bufs[i].Time)
		}
	}
	return n
}
