package capture

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/trace/analysis"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// key names a queue pair as the receiver of packets.
type key struct {
	src, dst netip.Addr
	qp       wire.QPN
}

// analyzer is the state of the analysis.
type analyzer struct {
	report   *analysis.Report
	trackers map[key]*tracker
	between  map[[2]netip.Addr][]*tracker // from and to two hosts
	pairs    map[key]*tracker             // whose acknowledgements go to a queue pair
}

// maxTrackers bounds the queue pairs that are looked at.
const maxTrackers = 1 << 14

func newAnalyzer(r *analysis.Report) *analyzer {
	return &analyzer{report: r, trackers: map[key]*tracker{},
		between: map[[2]netip.Addr][]*tracker{}, pairs: map[key]*tracker{}}
}

// packet adds a packet.
func (a *analyzer) packet(p *packet) {
	k := key{p.src, p.dst, p.dest}
	switch {
	case p.info.Kind == wire.CNPKind:
		if t := a.sender(k, nil); t != nil {
			t.flow.CNPs++
			t.flow.Notified.Add(p.at, 1)
		}
	case p.isAck() || p.info.Kind == wire.ReadResponse || p.info.Kind == wire.AtomicAck:
		if t := a.sender(k, p); t != nil {
			t.reply(p)
		}
	case p.info.Kind == wire.Extension:
		if t := a.trackers[k]; t != nil {
			t.flow.Admission++
		}
	case p.info.Request:
		if t := a.tracker(k, p); t != nil {
			t.request(p)
		}
	}
}

// tracker returns the tracker of the requests to a queue pair; nil if there are too many.
func (a *analyzer) tracker(k key, p *packet) *tracker {
	if t := a.trackers[k]; t != nil {
		t.flow.Last = max(t.flow.Last, p.at)
		return t
	}
	if len(a.trackers) >= maxTrackers {
		a.report.Others++
		return nil
	}
	name := fmt.Sprintf("%v → %v %#x %v", k.src, k.dst, uint32(k.qp), p.info.Transport)
	f := a.report.Flow(name, k.src.String(), k.dst.String(), p.at)
	if f == nil {
		return nil
	}
	t := &tracker{flow: f, next: p.psn, una: p.psn, reliable: p.info.Transport == wire.RC}
	a.trackers[k] = t
	ends := [2]netip.Addr{k.src, k.dst}
	a.between[ends] = append(a.between[ends], t)
	return t
}

// sender returns the tracker of the requests that queue pair k sent, given a packet p to it; nil if
// that is unknown. If several flows lead back to where p comes from, p belongs to the one that has
// its PSN outstanding: they are of 24 random bits. Only an unambiguous match is remembered. Without
// p there is no PSN.
func (a *analyzer) sender(k key, p *packet) *tracker {
	if t := a.pairs[k]; t != nil {
		return t
	}
	back := a.between[[2]netip.Addr{k.dst, k.src}]
	if p == nil {
		if len(back) == 1 {
			return back[0]
		}
		return nil
	}
	var match *tracker
	for _, t := range back {
		if t.reliable && !t.paired && t.hasOutstanding(p.psn) {
			if match != nil {
				return nil
			}
			match = t
		}
	}
	if match != nil {
		a.pairs[k], match.paired = match, true
	}
	return match
}

// outstanding is a request packet that is not acknowledged.
type outstanding struct {
	psn   wire.PSN
	at    units.Time
	bytes units.Bytes
	again bool
}
