package taurus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// feedback is a datapath that takes acknowledgements of its flows in turn, one in sixteen marked.
type feedback struct {
	cc.Controller
	flows []cc.Flow
	psn   []uint32
	next  int
	ev    cc.Event
	sent  sums
	lost  func() uint64
}

// sums are the sums of messages.
type sums struct{ packets, marked, bytes uint64 }

func newFeedback(c cc.Controller, flows int, algorithm func() (cc.Algorithm, error),
	now units.Time) (*feedback, error) {
	f := &feedback{Controller: c, psn: make([]uint32, flows), lost: func() uint64 { return 0 }}
	for range flows {
		a, err := algorithm()
		if err != nil {
			return nil, err
		}
		f.flows = append(f.flows, c.Add(a, now))
	}
	return f, nil
}

func (f *feedback) signal(now units.Time) {
	const outstanding = 64
	i := f.next
	if f.next++; f.next == len(f.flows) {
		f.next = 0
	}
	f.psn[i] = (f.psn[i] + 1) & (1<<24 - 1)
	f.ev = cc.Event{
		Kind: cc.ACK, Flow: f.flows[i], PSN: f.psn[i],
		SndNxt:  (f.psn[i] + outstanding) & (1<<24 - 1),
		Packets: 1, Bytes: mtu, InFlight: outstanding * mtu, Left: units.GiB,
	}
	f.sent.packets++
	f.sent.bytes += uint64(mtu)
	if f.psn[i]%16 == 0 {
		f.ev.Kind, f.ev.Marked = cc.ECN, 1
		f.sent.marked++
	}
	f.Report(&f.ev, now)
}

// acknowledge implements datapath.
func (f *feedback) acknowledge(n int, now units.Time) (signals, lost uint64) {
	before := f.lost()
	for range n {
		f.signal(now)
	}
	f.Poll(now)
	for name, some := f.Changed(); some; name, some = f.Changed() {
		f.Decision(name)
	}
	return uint64(n), f.lost() - before
}
