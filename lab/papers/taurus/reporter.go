package taurus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/nicoffload/ccp"
	"github.com/goroce/goroce/units"
)

// reporter is a datapath of CCP's without a program: it sends a prepared report of each
// acknowledgement, since a program on this core would be slower than the agent.
type reporter struct {
	ring    *nicoffload.Producer
	replies *nicoffload.Consumer
	reports [][]byte // of each flow
	next    int
	in      []byte
}

const reporterRing = 4096 // slots

// newReporter returns CCP's agent behind a generator of reports.
func newReporter(name string, flows int, rate float64,
	algorithm func() (cc.Algorithm, error)) (*contender, error) {
	up, down := nicoffload.AlignedMemory(nicoffload.RingBytes(reporterRing)),
		nicoffload.AlignedMemory(nicoffload.RingBytes(reporterRing))
	r := &reporter{in: make([]byte, reporterRing*nicoffload.Slot)}
	var err error
	if r.ring, err = nicoffload.NewProducer(up, reporterRing); err != nil {
		return nil, err
	}
	if r.replies, err = nicoffload.NewConsumer(down, reporterRing); err != nil {
		return nil, err
	}
	reports, err := nicoffload.NewConsumer(up, reporterRing)
	if err != nil {
		return nil, err
	}
	replies, err := nicoffload.NewProducer(down, reporterRing)
	if err != nil {
		return nil, err
	}
	roster := nicoffload.NewHandoff()
	agent, err := ccp.NewAgent(ccp.Config{}, reports, replies, roster)
	if err != nil {
		return nil, err
	}
	r.push(&ccp.Message{Kind: ccp.Ready})
	for f := range flows {
		a, err := algorithm()
		if err != nil {
			return nil, err
		}
		h := nicoffload.NewHandle(uint32(f), 0)
		roster.Put(h, a, a.(cc.Starter).Start(wall()))
		r.push(&ccp.Message{Kind: ccp.Create, Flow: uint32(h), MSS: uint32(mtu),
			InitCwnd: uint32(benchPath.BDP())})
		// Bytes, packets, marks, losses, timeouts, round trip, in flight, left, packets in flight:
		// see ccp.PerAck.
		r.reports = append(r.reports,
			padded(&ccp.Message{Kind: ccp.Measure, Flow: uint32(h), Program: ccp.ProgramID,
				Fields: []uint64{uint64(mtu), 1, 0, 0, 0, 8, 64 * uint64(mtu), uint64(units.GiB),
					64}}))
	}
	agent.Poll(wall())
	return &contender{name: name, datapath: r, agent: agent, handled: func() uint64 {
		return agent.Counters().Reports
	}, rate: rate}, nil
}

func padded(m *ccp.Message) []byte {
	b := m.Append(nil)
	return append(b, make([]byte, -len(b)&(nicoffload.Slot-1))...)
}

func (r *reporter) push(m *ccp.Message) { r.ring.Push(padded(m)) }

// acknowledge implements datapath.
func (r *reporter) acknowledge(n int, _ units.Time) (signals, lost uint64) {
	for range n {
		if !r.ring.Push(r.reports[r.next]) {
			lost++
		}
		if r.next++; r.next == len(r.reports) {
			r.next = 0
		}
	}
	for r.replies.Waiting() > 0 {
		r.replies.Pull(r.in)
	}
	return uint64(n), lost
}
