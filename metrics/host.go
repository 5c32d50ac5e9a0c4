package metrics

import (
	"fmt"
	"strconv"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/dpdk/ethdev"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// host is a host that is monitored.
type host struct {
	*goroce.Host
	name      string
	endpoints []*endpoint
}

// hostSample is the state of a host at one time.
type hostSample struct {
	name        string
	now         units.Time
	info        packet.Info
	port        dpdk.Stats
	link        ethdev.Link
	undelivered uint64
	endpoints   []*endpointSample
}

// freeName returns the name of a port, with a number if another host has it.
func (c *Collector) freeName(port string) string {
	name := port
	for i := 2; c.has(name); i++ {
		name = fmt.Sprintf("%s#%d", port, i)
	}
	return name
}

func (c *Collector) has(name string) bool {
	for _, h := range c.hosts {
		if h.name == name {
			return true
		}
	}
	return false
}

func newHost(h *goroce.Host, name string, queuePairs int) *host {
	m := &host{Host: h, name: name}
	for i := range h.Endpoints() {
		m.endpoints = append(m.endpoints, newEndpoint(i, queuePairs))
	}
	return m
}

// sample fails when the host is closed. After the removal of the port it returns what the endpoints
// counted, and a link that is down.
func (h *host) sample() (*hostSample, error) {
	s := &hostSample{name: h.name, now: h.Now(), info: h.Info(0), undelivered: h.Undelivered()}
	s.port, _ = h.Device().Stats()
	s.link, _ = h.Device().Link()
	for _, e := range h.endpoints {
		one, err := e.sample(h.Host)
		if err != nil {
			return nil, err
		}
		s.endpoints = append(s.endpoints, one)
	}
	return s, nil
}

// ping reports whether the polling core of each endpoint responds. It blocks while one does not.
func (h *host) ping() error {
	for i := range h.endpoints {
		if err := h.Do(i, func(*transport.Endpoint) {}); err != nil {
			return fmt.Errorf("%s: endpoint %d: %w", h.name, i, err)
		}
	}
	if _, err := h.Device().Link(); err != nil {
		return fmt.Errorf("%s: link: %w", h.name, err)
	}
	return nil
}

// The metrics of a port.
var (
	portInfo = gauge("goroce_port_info", "Properties of the port; always 1.",
		with(ofPort, "driver", "mac")...)
	portLink = gauge("goroce_port_link_up", "Whether the link is up.", ofPort...)
	portRate = gauge("goroce_port_link_bytes_per_second",
		"Rate of the link; 0 when unknown.", ofPort...)
	portMTU      = gauge("goroce_port_mtu_bytes", "Largest IP datagram of a frame.", ofPort...)
	portReceived = counter("goroce_port_received_frames_total", "Frames received by the port.",
		ofPort...)
	portReceivedBytes = counter("goroce_port_received_bytes_total", "Bytes received by the port.",
		ofPort...)
	portSent      = counter("goroce_port_sent_frames_total", "Frames sent by the port.", ofPort...)
	portSentBytes = counter("goroce_port_sent_bytes_total", "Bytes sent by the port.", ofPort...)
	portDropped   = counter("goroce_port_dropped_frames_total",
		"Frames dropped by the port: rx_missed (no descriptor), rx_error, rx_no_buffer, "+
			"rx_chained (several segments), tx_error, tx_removed (the device was removed), "+
			"undelivered (for an endpoint that did not poll).",
		with(ofPort, "cause")...)
	portBuffers     = gauge("goroce_port_buffers", "Frame buffers in the pool.", ofPort...)
	portBuffersFree = gauge("goroce_port_buffers_free", "Free frame buffers in the pool.",
		ofPort...)
	portReceiveQueue = gauge("goroce_port_receive_queue_frames",
		"Frames that wait in the receive queues; absent if the driver does not report it.",
		ofPort...)
	portDepth = gauge("goroce_port_transmit_queue_depth_frames",
		"Capacity of a transmit queue.", ofPort...)
)

func (s *hostSample) write(w writer) {
	w = w.add(s.name)
	p := &s.port
	w.value(portInfo, 1, s.info.Driver, s.info.MAC.String())
	w.flag(portLink, s.link.Up)
	rate := s.info.LinkRate
	if s.link.Mbps > 0 {
		rate = units.BitRate(s.link.Mbps) * units.Mbps
	}
	w.value(portRate, float64(rate)/8)
	w.value(portMTU, float64(s.info.MTU))
	w.count(portReceived, p.RxFrames)
	w.count(portReceivedBytes, p.RxBytes)
	w.count(portSent, p.TxFrames)
	w.count(portSentBytes, p.TxBytes)
	for _, d := range []struct {
		cause string
		n     uint64
	}{{"rx_missed", p.RxMissed}, {"rx_error", p.RxErrors}, {"rx_no_buffer", p.RxNoBuffer},
		{"rx_chained", p.RxChained}, {"tx_error", p.TxErrors}, {"tx_removed", p.TxRemoved},
		{"undelivered", s.undelivered}} {
		w.count(portDropped, d.n, d.cause)
	}
	w.value(portBuffers, float64(p.Buffers))
	w.value(portBuffersFree, float64(p.BuffersFree))
	if p.RxQueued >= 0 {
		w.value(portReceiveQueue, float64(p.RxQueued))
	}
	w.value(portDepth, float64(s.info.TxDepth))
	for _, e := range s.endpoints {
		e.write(w.add(strconv.Itoa(e.index)))
	}
}
