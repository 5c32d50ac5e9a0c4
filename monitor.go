package goroce

import (
	"log/slog"
	"time"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/transport"
)

// monitorPeriod is how often a host compares the state of its port and its endpoints with that of
// before.
const monitorPeriod = time.Second

// health is what monitor observes.
type health struct {
	linkUp     bool
	poolLow    bool
	macChanges uint64 // of neighbours
	fallbacks  uint64 // of offloaded congestion control, to inline control
}

// monitor logs what changes at the port, until the host ends, and announces the host's addresses
// when the link comes up, or when a neighbour has a new MAC address: the machine that replaced it
// may have no entry for this host.
func (h *Host) monitor() {
	tick := time.NewTicker(monitorPeriod)
	defer tick.Stop()
	var before health // of a port that has just been opened
	for {
		select {
		case <-tick.C:
		case <-h.life.Done():
			return
		}
		reserveProcs(0) // the program may have set GOMAXPROCS; too few would stop it
		now := h.health()
		if h.life.Err() != nil {
			return // what it found is the end
		}
		h.report(before, now)
		if now.linkUp && !before.linkUp || now.macChanges > before.macChanges {
			h.announce()
		}
		before = now
	}
}

// announce broadcasts the host's addresses.
func (h *Host) announce() {
	_ = h.workers[0].do(func(ep *transport.Endpoint) { ep.Setup().Neighbors().Announce() })
}

func (h *Host) health() (s health) {
	if link, err := h.device.Link(); err == nil {
		s.linkUp = link.Up
	}
	if stats, err := h.device.Stats(); err == nil {
		s.poolLow = isPoolLow(stats)
	}
	for i, w := range h.workers {
		_ = w.do(func(ep *transport.Endpoint) { // fails when the host ends
			s.macChanges += ep.Setup().Neighbors().Counters().MACChanges
			if h.offloads != nil {
				s.fallbacks += h.offloads[i].Controller.Counters().Silences
			}
		})
	}
	return s
}

// isPoolLow reports whether less than an eighth of the frame buffers are free.
func isPoolLow(s dpdk.Stats) bool { return s.BuffersFree < s.Buffers/8 }

// report logs the differences.
func (h *Host) report(before, now health) {
	name := h.device.Info().Name
	if now.linkUp != before.linkUp {
		level, message := slog.LevelInfo, "link is up"
		if !now.linkUp {
			level, message = slog.LevelWarn, "link is down"
		}
		h.events.add(level, message, "port", name)
	}
	if now.poolLow && !before.poolLow {
		h.events.add(slog.LevelWarn, "fewer than an eighth of the frame buffers are free", "port",
			name)
	}
	if n := now.macChanges - before.macChanges; n > 0 {
		h.events.add(slog.LevelInfo, "neighbours have new MAC addresses", "port", name, "number", n)
	}
	if n := now.fallbacks - before.fallbacks; n > 0 {
		h.events.add(slog.LevelWarn, "congestion control fell back to inline: its agent is silent",
			"port", name, "flows", n)
	}
}
