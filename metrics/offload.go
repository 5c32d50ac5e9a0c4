package metrics

import (
	"github.com/goroce/goroce"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
)

// offload is the state of congestion control behind a device.
type offload struct {
	controller nicoffload.ControllerCounters
	inFallback bool
	agent      nicoffload.AgentCounters
	device     nicoffload.Counters
	stretch    int
}

// sampleOffload must be called by the polling core. It returns nil if congestion control runs
// inline.
func sampleOffload(h *goroce.Host, i int) *offload {
	one := h.Offload(i)
	if one == nil {
		return nil
	}
	return &offload{controller: one.Controller.Counters(), inFallback: one.Controller.InFallback()}
}

// The metrics of congestion control behind a device.
var (
	offloadResults = counter("goroce_offload_results_total",
		"Results of the agent that reached the polling core.", ofEndpoint...)
	offloadStale = counter("goroce_offload_stale_results_total",
		"Results for flows that had ended.", ofEndpoint...)
	offloadSilences = counter("goroce_offload_silences_total",
		"Times that inline control took over because the agent was silent.", ofEndpoint...)
	offloadReturns = counter("goroce_offload_returns_total",
		"Times that the agent resumed.", ofEndpoint...)
	offloadFallback = gauge("goroce_offload_in_fallback",
		"Whether inline control has taken over from a silent agent.", ofEndpoint...)
	offloadStretch = gauge("goroce_offload_period_stretch",
		"Factor by which the agent lengthens the periods of aggregation.", ofEndpoint...)
	agentEvents = counter("goroce_offload_agent_events_total",
		"What the agent did and refused, by the names of nicoffload.AgentCounters.",
		with(ofEndpoint, "event")...)
	agentEvicted = counter("goroce_offload_agent_evicted_messages_total",
		"Raw messages that the agent discarded, by their event.", with(ofEndpoint, "event")...)
	deviceEvents = counter("goroce_offload_device_events_total",
		"What the device did and refused, by the names of nicoffload.Counters.",
		with(ofEndpoint, "event")...)
	deviceEvicted = counter("goroce_offload_device_evicted_messages_total",
		"Raw messages that the device evicted from a full queue, by their event.",
		with(ofEndpoint, "event")...)
)

func (o *offload) write(w writer) {
	if o == nil {
		return
	}
	w.count(offloadResults, o.controller.Results)
	w.count(offloadStale, o.controller.Stale)
	w.count(offloadSilences, o.controller.Silences)
	w.count(offloadReturns, o.controller.Returns)
	w.flag(offloadFallback, o.inFallback)
	w.value(offloadStretch, float64(o.stretch))
	w.fields(o.agent, byName(agentEvents))
	w.fields(o.device, byName(deviceEvents))
	for kind, n := range o.agent.Evicted {
		w.count(agentEvicted, n, cc.Kind(kind).String())
	}
	for kind, n := range o.device.Evicted {
		w.count(deviceEvicted, n, cc.Kind(kind).String())
	}
}

// byName shows each field under its own name.
func byName(f *family) func(string) (*family, string) {
	return func(field string) (*family, string) { return f, snake(field) }
}
