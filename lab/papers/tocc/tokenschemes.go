package tocc

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// tokenSchemes are comparisons among token schemes in leaf-spine networks.
var tokenSchemes = []*experiment.Experiment{fig2a, fig2b, fig2c, fig2d, fig3c, fig6a, fig6b, fig6c,
	fig6d, fig14, prioPlusHoma}

// proactive are the schemes of figure 6; first are those of figure 2, where the paper has no ToCC
// yet.
var (
	proactive = []scheme{homa, credits, aeolus, unscheduled, scheduled}
	first     = []scheme{credits, aeolus, homa, ndp}
)

// memcachedAt is figures 2a, 2b and 6a. Load is counted in credits: in bytes, flows of a packet of
// some hundred bytes would need 2.6 times the credits that the core carries.
func memcachedAt(s experiment.Scale, n network) setting {
	m := memcachedBytes(s, n)
	m.Traffic.Slots = true
	return m
}

// memcachedBytes is the same flows with load in bytes.
func memcachedBytes(s experiment.Scale, n network) setting {
	return setting{networkAt(s, n), flows(s, memcached, 0.8, 20_000, 5000)}
}

// oversubscribed returns a workload of larger flows with the core as the limit. The small network
// has one uplink of eight hosts.
func oversubscribed(s experiment.Scale, n network, workload string, full int) setting {
	x := setting{networkAt(s, n), flows(s, workload, 0.8, full, 300)}
	if s == experiment.Small {
		x.Network.Name, x.Network.Spines = x.Network.Name+" 8:1", 1
	}
	return x
}

// followers is Cache Follower and searches Web Search.
func followers(s experiment.Scale, n network) setting {
	return oversubscribed(s, n, cacheFollower, 3000)
}

func searches(s experiment.Scale) setting { return oversubscribed(s, os100, webSearch, 1500) }

// ofHosts is a setting with load relative to the hosts' links, which overloads the core for as long
// as flows arrive.
func (x setting) ofHosts(s experiment.Scale, full int) setting {
	x.Traffic.OfHosts, x.Traffic.Flows = true, experiment.At(s, full, 2*x.Traffic.Flows)
	return x
}

// The settings in which Homa's buffer is measured, which fills as long as flows arrive. 8 000 flows
// of Web Search have as many bytes as 20 000 of Cache Follower.
func crowd(s experiment.Scale, n network) setting { return followers(s, n).ofHosts(s, 20_000) }
func searchCrowd(s experiment.Scale) setting      { return searches(s).ofHosts(s, 8000) }

// draws is a setting three times, with other flows.
func (x setting) draws() (all []setting) {
	for i := range 3 {
		x.Traffic.Draw = i
		all = append(all, x)
	}
	return all
}

// If the core is the bottleneck, NDP trims more and more as flows gather, and simulations take as
// long: its comparisons have fewer flows.
func fewFollowers(s experiment.Scale) setting {
	return oversubscribed(s, os100, cacheFollower, 600)
}
func fewSearches(s experiment.Scale) setting { return oversubscribed(s, os100, webSearch, 300) }

// slowdowns and tails of all flows but incasts'.
func slowdowns(x row) float64 { return mean(x.slowdown()) }
func tails(x row) float64     { return p99(x.slowdown()) }

// trimmedShare returns the part of the packets of data that senders sent and switches trimmed.
func (r row) trimmedShare() float64 { return r.Values("trimmed").Sum() / r.Values("data").Sum() }

// tokenTable has a row for each scheme: completion times, what switches held, dropped and trimmed,
// and retransmissions.
func tokenTable(r *experiment.Results, title string, of []scheme,
	settings ...setting) *figure.Table {
	t := &figure.Table{Name: "schemes", Title: title, Header: []string{
		"scheme", "network", "traffic", "flows", "mean FCT (µs)", "p99 FCT (µs)", "mean slowdown",
		"p99 slowdown", "incast FCT (µs)", "buffer (KB)",
		"dropped", "trimmed", "sent again", "timeouts",
	}}
	for _, s := range settings {
		for _, x := range of {
			row := s.row(r, x)
			t.Row(x, s.Network.Name, s.Traffic, len(row.fct()), digits(1e6*mean(row.fct())),
				digits(1e6*p99(row.fct())), digits(slowdowns(row)), digits(tails(row)),
				digits(1e6*mean(row.fct("incast"))), digits(row.bufmax()/1000),
				row.Values("lost").Sum(), row.Values("trimmed").Sum(), row.Values("again").Sum(),
				row.Values("timeouts").Sum())
		}
	}
	return t
}

// slowdownBars draws slowdowns of a setting, the mean and the tail.
func slowdownBars(r *experiment.Results, name, title string, of []scheme, s setting) *figure.Plot {
	plot := figure.Bars(name, title, "slowdown", "mean", "99th percentile")
	plot.Y.Log = true
	for _, x := range of {
		var m experiment.Measures
		cell := s.row(r, x).Pool
		m.Add(cell, func(p experiment.Pool) float64 { return slowdowns(row{p}) })
		m.Add(cell, func(p experiment.Pool) float64 { return tails(row{p}) })
		m.Bars(plot, string(x))
	}
	return plot
}

// bufferBars draws the most that one switch held.
func bufferBars(r *experiment.Results, name, title string, of []scheme,
	settings ...setting) *figure.Plot {
	var groups []string
	for _, s := range settings {
		groups = append(groups, s.Traffic.Workload)
	}
	plot := figure.Bars(name, title, "most in a switch (KB)", groups...)
	plot.Y.Log = true
	for _, x := range of {
		var heights []float64
		for _, s := range settings {
			heights = append(heights, s.row(r, x).bufmax()/1000)
		}
		plot.Heights(string(x), heights...)
	}
	return plot
}
