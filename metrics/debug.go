package metrics

import (
	_ "embed"
	"encoding/json"
	"net/http"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport"
)

//go:embed debug.html
var debugPage []byte

// page is the live table of queue pairs.
func page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(debugPage)
}

// The state that the page reads each second, with times in seconds.
type (
	debugState struct {
		Ports      []debugPort      `json:"ports"`
		QueuePairs []debugQueuePair `json:"queue_pairs"`
	}
	debugPort struct {
		Port       string  `json:"port"`
		Link       bool    `json:"link"`
		Received   uint64  `json:"received_bytes"`
		Sent       uint64  `json:"sent_bytes"`
		Free       int     `json:"buffers_free"`
		Buffers    int     `json:"buffers"`
		QueuePairs int     `json:"queue_pairs"`
		Busy       float64 `json:"busy"` // time, of all endpoints
		Now        float64 `json:"now"`
	}
	debugQueuePair struct {
		Port      string  `json:"port"`
		Endpoint  int     `json:"endpoint"`
		Num       string  `json:"num"`
		Service   string  `json:"service"`
		State     string  `json:"state"`
		Peer      string  `json:"peer"`
		Algorithm string  `json:"algorithm"`
		Sent      uint64  `json:"sent_bytes"`
		Received  uint64  `json:"received_bytes"`
		Again     uint64  `json:"retransmitted"`
		Delay     float64 `json:"delay"`
		Target    float64 `json:"target"`
		Window    int64   `json:"window"`
		InFlight  int64   `json:"in_flight"`
		Pacing    int64   `json:"pacing"` // bits per second
		Cuts      uint64  `json:"cuts"`
		Reason    string  `json:"reason"`  // of the last cut; empty without one
		CutAge    float64 `json:"cut_age"` // time since then
		Blocked   float64 `json:"blocked"` // at a gate
		Now       float64 `json:"now"`     // when this was sampled
	}
)

func (s *Server) state(w http.ResponseWriter, _ *http.Request) {
	d := debugState{Ports: []debugPort{}, QueuePairs: []debugQueuePair{}}
	for _, h := range s.sample() {
		p := debugPort{Port: h.name, Link: h.link.Up, Free: h.port.BuffersFree,
			Buffers: h.port.Buffers, Now: seconds(h.now.Sub(0))}
		for _, e := range h.endpoints {
			p.Received += e.RxBytes // not every driver counts bytes
			p.Sent += e.TxBytes
			p.QueuePairs += e.Holdings.QueuePairs
			p.Busy += seconds(e.Polling.Busy)
			for i := range e.queuePairs.largest {
				d.QueuePairs = append(d.QueuePairs, h.queuePair(e.index, &e.queuePairs.largest[i]))
			}
		}
		d.Ports = append(d.Ports, p)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(d) // the client has gone
}

func (s *hostSample) queuePair(endpoint int, qp *transport.QPSample) debugQueuePair {
	c := &qp.Congestion
	d := debugQueuePair{Port: s.name, Endpoint: endpoint, Num: qpLabel(qp),
		Service: qp.Type.String(), State: qp.State.String(), Algorithm: qp.Algorithm,
		Sent: qp.BytesSent, Received: qp.BytesIn, Again: qp.Retransmitted,
		Delay: seconds(c.Delay), Target: seconds(c.Target), Window: int64(c.Window),
		InFlight: int64(qp.InFlight), Pacing: int64(c.Rate),
		Blocked: seconds(qp.Admission.BlockedTime), Now: seconds(s.now.Sub(0))}
	if qp.Peer.IsValid() {
		d.Peer = qp.Peer.String()
	}
	for _, n := range c.Cuts {
		d.Cuts += n
	}
	if c.Reason != cc.NoCut {
		d.Reason, d.CutAge = c.Reason.String(), max(0, seconds(s.now.Sub(c.CutAt)))
	}
	return d
}
