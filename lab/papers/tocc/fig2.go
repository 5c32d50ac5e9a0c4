package tocc

import (
	"slices"

	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// Figure 2: existing token schemes, with flows of a packet and with longer ones, at 10 and 100
// Gb/s.

var fig2a = &experiment.Experiment{
	ID: "tocc/fig2a",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return append(memcachedAt(s, os10).cells(first...),
			memcachedBytes(s, os10).cells(credits, homa)...)
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		m, bytes := memcachedAt(r.Scale, os10), memcachedBytes(r.Scale, os10)
		of := func(x scheme) row { return m.row(r, x) }
		r.Claim("ep-worst", slowdowns(of(credits))/max(slowdowns(of(homa)), slowdowns(of(ndp))))
		packets := func(m setting) float64 {
			return mean(m.row(r, credits).Values("packet")) /
				mean(m.row(r, homa).Values("packet"))
		}
		r.Claim("first-rtt", packets(m))
		r.Note("first-rtt", "with load in credits. In bytes, of which %s, it is %s", creditLoad(),
			digitsText(packets(bytes)))
		if r.Scale == experiment.Full {
			r.Claim("aeolus-worse", slowdowns(of(aeolus))/slowdowns(of(credits)))
			r.Note("aeolus-worse", "%s", aeolusHere(of(aeolus)))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		m, bytes := memcachedAt(r.Scale, os10), memcachedBytes(r.Scale, os10)
		return []figure.Figure{
			slowdownBars(r, "slowdown", "Memcached, 10 Gb/s, load in credits", first, m),
			slowdownBars(r, "bytes", "Memcached, 10 Gb/s, load in bytes: "+creditLoad(),
				[]scheme{credits, homa}, bytes),
			tokenTable(r, "Memcached at 10 Gb/s", first, m),
		}
	},
}

// creditLoad explains the effect of a credit for each small flow: it is for a full packet.
func creditLoad() string {
	// All flows take a credit at least; few are longer than a packet.
	return "credits for full packets, one a flow, are " +
		digitsText(0.8*meanPackets(workload.Memcached)*float64(tocc.TokenWire+credited)/
			meanOnWire(workload.Memcached)) + " times the core's share of credits"
}

// aeolusHere reports how many unscheduled packets are dropped.
func aeolusHere(x row) string {
	return "switches drop unscheduled packets from 8 KB in a queue; the most that one holds in " +
		"all its queues is " + digitsText(x.bufmax()/1000) + " KB, and they drop " +
		digitsText(100*x.Values("lost").Sum()/x.Values("data").Sum()) + " % of all packets"
}

var fig2b = &experiment.Experiment{
	ID: "tocc/fig2b",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return append(memcachedAt(s, os100).cells(first...),
			memcachedAt(s, os10).cells(credits, homa, ndp)...)
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		gap := func(n network) float64 {
			m := memcachedAt(r.Scale, n)
			return slowdowns(m.row(r, credits)) /
				((slowdowns(m.row(r, homa)) + slowdowns(m.row(r, ndp))) / 2)
		}
		r.Claim("gap-grows", gap(os100)/gap(os10))
		longer := func(n network) float64 {
			m := memcachedAt(r.Scale, n)
			return 1e6 * (meanFCT()(m.row(r, credits)) - meanFCT()(m.row(r, homa)))
		}
		r.Note("gap-grows", "ExpressPass takes %.2f times as long as Homa and NDP at 10 Gb/s, and "+
			"%.2f times at 100: it waits for a round trip, nearly the same at both rates, and "+
			"for credits, whose slots are ten times as long at 10 Gb/s. On average a flow takes "+
			"%.1f µs longer than Homa's at 10 Gb/s and %.1f at 100", gap(os10), gap(os100),
			longer(os10), longer(os100))
		if r.Scale == experiment.Full {
			m := memcachedAt(r.Scale, os100)
			r.Claim("aeolus-better", slowdowns(m.row(r, aeolus))/slowdowns(m.row(r, credits)))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		m := memcachedAt(r.Scale, os100)
		return []figure.Figure{slowdownBars(r, "slowdown", "Memcached, 100 Gb/s, load in credits",
			first, m), tokenTable(r, "Memcached at 100 Gb/s", first, m)}
	},
}

var fig2c = &experiment.Experiment{
	ID: "tocc/fig2c",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return append(followers(s, os10).cells(credits, aeolus, homa),
			crowd(s, os10).cells(homa)...)
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		m := followers(r.Scale, os10)
		r.Claim("homa-buffer", units.Bytes(crowd(r.Scale, os10).row(r, homa).bufmax()))
		r.Claim("ep-buffer", m.row(r, homa).bufmax()/m.row(r, credits).bufmax())
		if r.Scale == experiment.Small {
			r.Note("ep-buffer", "%s", fewHosts)
		}
		if r.Scale == experiment.Full {
			r.Claim("ep-tail", p99(m.row(r, credits).fct())/p99(m.row(r, homa).fct()))
		}
		noteHomaBuffer(r, m, crowd(r.Scale, os10))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		m := followers(r.Scale, os10)
		of := []scheme{credits, aeolus, homa}
		return []figure.Figure{
			m.bars(r, "mean", "Mean completion time by class, Cache Follower, 10 Gb/s", of,
				meanFCT),
			m.bars(r, "p99", "99th percentile by class, Cache Follower, 10 Gb/s", of, p99FCT),
			bufferBars(r, "buffer", "Buffer, Cache Follower, 10 Gb/s", of, m), tokenTable(r,
				"Cache Follower at 10 Gb/s; NDP is in fig2d", of, m),
		}
	},
}

// noteHomaBuffer compares both loads.
func noteHomaBuffer(r *experiment.Results, core, hosts setting) {
	r.Note("homa-buffer", "with hosts' links loaded to 0.8, which overloads the core, and %d "+
		"flows. With 0.8 of what the core carries %s MB", hosts.Traffic.Flows,
		digitsText(core.row(r, homa).bufmax()/1e6))
}

var fig2d = &experiment.Experiment{
	ID: "tocc/fig2d",
	Cells: func(s experiment.Scale) []experiment.Cell {
		if s == experiment.Small { // the same traffic
			return append(followers(s, os100).cells(first...), crowd(s, os100).cells(homa)...)
		}
		return slices.Concat(followers(s, os100).cells(credits, aeolus, homa),
			fewFollowers(s).cells(ndp), crowd(s, os100).cells(homa))
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		m, few := followers(r.Scale, os100), fewFollowers(r.Scale)
		r.Claim("homa-buffer", units.Bytes(crowd(r.Scale, os100).row(r, homa).bufmax()))
		r.Claim("ndp-drops", few.row(r, ndp).trimmedShare())
		noteHomaBuffer(r, m, crowd(r.Scale, os100))
		r.Note("ndp-drops", "with %d flows. Receivers pull at the rate of their own links, four "+
			"times what the core carries, and the more flows gather, the more is trimmed: the "+
			"share depends on the duration of the load, which the paper does not give",
			few.Traffic.Flows)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		m := followers(r.Scale, os100)
		of := []scheme{credits, aeolus, homa}
		return []figure.Figure{
			m.bars(r, "mean", "Mean completion time by class, Cache Follower, 100 Gb/s", of,
				meanFCT),
			m.bars(r, "p99", "99th percentile by class, Cache Follower, 100 Gb/s", of, p99FCT),
			bufferBars(r, "buffer", "Buffer, Cache Follower, 100 Gb/s", of, m), tokenTable(r,
				"Cache Follower at 100 Gb/s", of, m),
			named("ndp", tokenTable(r, "NDP, fewer flows at full scale", []scheme{ndp},
				fewFollowers(r.Scale))),
		}
	},
}
