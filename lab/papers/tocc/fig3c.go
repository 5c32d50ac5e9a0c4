package tocc

import (
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

func fig3cSetting(s experiment.Scale) setting {
	return setting{networkAt(s, nb100), flows(s, webServer, 0.8, 10_000, 1000)}
}

// fig3c: total volume control, and none.
var fig3c = &experiment.Experiment{
	ID: "tocc/fig3c",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return fig3cSetting(s).cells(scheduled, endless)
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		m := fig3cSetting(r.Scale)
		with, without := m.row(r, scheduled), m.row(r, endless)
		r.Claim("tail", p99(without.fct())/p99(with.fct()))
		bdp := float64(m.Network.Host.Rate.Bytes(baseRTT))
		unused := func(x row) claims.Value { return claims.Number(x.Values("unused").Mean() / bdp) }
		r.Claim("waste", experiment.With("with", unused(with)).With("without", unused(without)))
		if r.Scale == experiment.Full {
			r.Claim("exact", with.Values("most unused").Max())
			r.Claim("util", without.goodputBelow(with))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		m, of := fig3cSetting(r.Scale), []scheme{scheduled, endless}
		return []figure.Figure{
			m.bars(r, "mean", "Mean completion time by class, Web Server", of, meanFCT), m.bars(r,
				"p99", "99th percentile by class, Web Server", of, p99FCT),
			tokenTable(r, "Total volume control, and none; Web Server", of, m),
		}
	},
}

// goodputBelow returns how much more goodput another scheme had while flows arrived.
func (r row) goodputBelow(more row) float64 {
	return more.Values("goodput").Mean() / r.Values("goodput").Mean()
}
