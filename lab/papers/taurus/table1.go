package taurus

import (
	"math/bits"
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/nicoffload/ccp"
	"github.com/goroce/goroce/nicoffload/pcc"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// eventClasses are the classes of TAURUS's table 3.
var eventClasses = []cc.Kind{cc.ACK, cc.ECN, cc.OOO, cc.RTO, cc.RTT, cc.TX, cc.CST, cc.HOST}

// A deliverer delivers events to one flow's algorithm.
type deliverer struct {
	name string
	// start makes it; the function that it returns causes one event of a class.
	start func(cc.Algorithm) (cause func(cc.Kind), err error)
}

var deliverers = []deliverer{{"ccp", startCCP}, {"doca", startPCC}, {"taurus", startTaurus}}

// table1: the events that reach an algorithm that binds all of them, in each framework, and in
// TAURUS one that binds each alone.
var table1 = &experiment.Experiment{
	ID:    "taurus/table1",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		for _, f := range deliverers {
			received, err := f.delivers(cc.Events(eventClasses...))
			if err != nil {
				return err
			}
			for _, k := range eventClasses {
				j.Value(f.name, indicator(received.Has(k)))
			}
		}
		for _, bound := range append([]cc.EventSet{cc.Events(cc.TIMER)}, each(eventClasses)...) {
			received, err := deliverers[2].delivers(bound)
			if err != nil {
				return err
			}
			j.Value("unbound", float64(bits.OnesCount32(uint32(received&^bound))))
			j.Value("alone", float64(bits.OnesCount32(uint32(received&bound))))
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		var host experiment.Keyed
		for _, f := range deliverers {
			host = host.With(f.name, r.Values(f.name)[slices.Index(eventClasses, cc.HOST)] > 0)
		}
		r.Claim("host-only-taurus", host)
		r.Claim("all-eight", experiment.With("bound_delivered", r.Values("taurus").Sum()).
			With("unbound_delivered", r.Values("unbound").Sum()))
		r.Note("all-eight", "bound together; each alone, %.0f", r.Values("alone").Sum())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "events",
			Title: "Events that reach an algorithm that binds all eight", Header: []string{"event"}}
		for _, f := range deliverers {
			t.Header = append(t.Header, f.name)
		}
		for i, k := range eventClasses {
			row := []any{k}
			for _, f := range deliverers {
				row = append(row, map[float64]string{0: "no", 1: "yes"}[r.Values(f.name)[i]])
			}
			t.Row(row...)
		}
		return []figure.Figure{t}
	},
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func each(kinds []cc.Kind) (sets []cc.EventSet) {
	for _, k := range kinds {
		sets = append(sets, cc.Events(k))
	}
	return sets
}

// delivers returns the events that reach an algorithm that binds some, when one of each class
// happens.
func (f deliverer) delivers(bound cc.EventSet) (received cc.EventSet, err error) {
	cause, err := f.start(&listener{events: bound, first: cc.Decision{Window: mtu},
		on: func(ev *cc.Event, _ units.Time) cc.Decision {
			received |= cc.Events(ev.Kind)
			return cc.Decision{Window: mtu}
		}})
	if err != nil {
		return 0, err
	}
	cause(cc.ACK) // time to exchange set-up messages
	received = 0
	for _, k := range eventClasses {
		cause(k)
	}
	return received, nil
}

// happening is an event of a class, as a transport reports it.
func happening(k cc.Kind, f cc.Flow) *cc.Event {
	ev := &cc.Event{Kind: k, Flow: f}
	switch k {
	case cc.RTT:
		ev.Packets, ev.Bytes, ev.Delay = 1, mtu, 10*us
	case cc.ACK, cc.TX:
		ev.Packets, ev.Bytes = 1, mtu
	case cc.ECN:
		ev.Packets, ev.Bytes, ev.Marked = 1, mtu, 1
	case cc.HOST:
		ev.Host.Value = 1
	}
	return ev
}

// reporting reports events to a controller's only flow, with time between them.
func reporting(c cc.Controller, a cc.Algorithm) func(cc.Kind) {
	now := units.Time(0)
	f := c.Add(a, now)
	return func(k cc.Kind) {
		now = now.Add(100 * us)
		c.Report(happening(k, f), now)
		for range 3 {
			now = now.Add(10 * us)
			c.Poll(now)
			c.Decision(f)
		}
	}
}

func startCCP(a cc.Algorithm) (func(cc.Kind), error) {
	c, _, err := ccp.New(ccp.Config{Program: ccp.PerAck}, true)
	if err != nil {
		return nil, err
	}
	return reporting(c, a), nil
}

func startPCC(a cc.Algorithm) (func(cc.Kind), error) {
	c, err := pcc.NewController(pcc.Config{LineRate: 400 * gbps})
	if err != nil {
		return nil, err
	}
	return reporting(c, a), nil
}

// startTaurus causes events in the packet pipeline, by the clock, and on the host.
func startTaurus(a cc.Algorithm) (func(cc.Kind), error) {
	const rto = 50 * us
	nic, err := openFlows(1, nicoffload.Binding{}, nicoffload.Immediate, 0)
	if err != nil {
		return nil, err
	}
	agent, err := agentOf(nic, a, nicoffload.Binding{Events: a.Events(), RTO: rto})
	if err != nil {
		return nil, err
	}
	if err := nic.Extract(nicoffload.Extraction{ID: segmentID, Packet: nicoffload.PacketFeedback,
		Length: 4}); err != nil {
		return nil, err
	}
	if err := agent.Parse(segmentID, func([]byte, *cc.Event) error { return nil }); err != nil {
		return nil, err
	}
	congested := false
	if _, err := agent.Sample("occupancy", us, func(units.Time) (float64, bool) {
		return 1, congested
	}, 0); err != nil {
		return nil, err
	}
	agent.Poll(0)
	now, psn := units.Time(0), uint32(0)
	data := func() {
		psn++
		nic.Sent(0, &nicoffload.Packet{PSN: psn, Bytes: mtu}, nil, now)
	}
	return func(k cc.Kind) {
		now = now.Add(100 * us)
		switch k {
		case cc.ACK:
			nic.Received(0, &nicoffload.Packet{Type: nicoffload.PacketAck, PSN: psn, Bytes: mtu},
				now)
		case cc.ECN:
			nic.Received(0, &nicoffload.Packet{Type: nicoffload.PacketAck, PSN: psn, Bytes: mtu,
				ECE: true}, now)
		case cc.OOO:
			nic.Received(0, &nicoffload.Packet{Type: nicoffload.PacketAck, PSN: psn, Nak: true},
				now)
		case cc.RTO:
			data()
			now = now.Add(2 * rto) // and nothing is acknowledged
		case cc.RTT:
			response := make([]byte, extension.ProbeLen)
			extension.ProbeField(response).Set(extension.ProbeResponse, 1, now.Add(-10*us))
			nic.Received(0, &nicoffload.Packet{Type: nicoffload.PacketProbe, Probe: response}, now)
		case cc.TX:
			data()
		case cc.CST:
			nic.Received(0, &nicoffload.Packet{Type: nicoffload.PacketFeedback,
				Segment: []byte("INT!")}, now)
		case cc.HOST:
			congested = true
		}
		nic.Poll(now)
		agent.Poll(now)
		congested = false
	}, nil
}
