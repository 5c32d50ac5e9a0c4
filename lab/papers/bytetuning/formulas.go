package bytetuninglab

import (
	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/fluid"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// The burst of equation 1's example.
const burstBuffer units.Bytes = 32_000_000

const burstHosts = 240

// formulas: equations 1 to 5 and the statements of tables 2 and 3 about others, by formula, and
// equation 1 in packets.
var formulas = &experiment.Experiment{
	ID:    "bytetuning/formulas",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		j.Value("fill", bytetuning.FillTime(burstBuffer, burstHosts, 25*gbps, 0).Microseconds())
		j.Value("ppfc", bytetuning.PPFCDuration(9_000_000, 16, 40*gbps).Microseconds())
		j.Value("pause", fluid.PauseTime(40*gbps).Microseconds())
		full, err := fillPackets(j)
		if err != nil {
			return err
		}
		j.Value("fill packets", full.Seconds()/bytetuning.FillTime(burstBuffer, burstHosts, 25*gbps,
			25*gbps).Seconds())
		for rate := units.BitRate(10); rate <= 400; rate += 10 {
			r := rate * gbps
			j.Series("DCTCP").Add(float64(rate), float64(bytetuning.DCTCPThreshold(r, 85*us)))
			j.Series("ECN*").Add(float64(rate), float64(bytetuning.ECNStarThreshold(r, 85*us)))
			j.Series("headroom").Add(float64(rate),
				float64(bytetuning.Headroom(r, 500*units.Nanosecond, 4200, 480)))
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("fill", r.Values("fill").Max())
		r.Claim("fill-packets", r.Values("fill packets").Max())
		r.Claim("ppfc", r.Values("ppfc").Max())
		r.Claim("pause", r.Values("pause").Max())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.Lines("thresholds", "Thresholds by formula, round trip 85 µs", "rate (Gb/s)",
			"KB")
		for _, name := range []string{"DCTCP", "ECN*", "headroom"} {
			r.Series(name).Scaled(1, 1e-3).Draw(p, name)
		}
		t := &figure.Table{Name: "formulas", Title: "Equations with the paper's numbers",
			Header: []string{"what", "us"}}
		t.Row("fill of 32 MB by 240 hosts at 25 Gb/s", r.Values("fill")[0])
		t.Row("P-PFC: 9 MB, 16 ports, 40 Gb/s", r.Values("ppfc")[0])
		t.Row("longest pause at 40 Gb/s", r.Values("pause")[0])
		t.Row("fill in packets over fill less drain (ratio)", r.Values("fill packets")[0])
		return []figure.Figure{p, t}
	},
}

// fillPackets has 240 hosts send to one at line rate, from the first frame that arrives at a switch
// until its buffer is full.
func fillPackets(j *experiment.Job) (units.Duration, error) {
	const frame = 1500 // bytes, with the check sequence that the buffer stores
	net := fabric.New(fabric.Config{Seed: j.Seed})
	s := net.AddSwitch("switch", fabric.SwitchConfig{Buffer: burstBuffer})
	for range burstHosts + 1 {
		net.Connect(net.AddHost(fabric.HostConfig{}), s, fabric.Link{Rate: 25 * gbps})
	}
	if err := net.Build(); err != nil {
		return 0, err
	}
	for i := range burstHosts {
		f := openloop.Frame{Len: frame - 4, Dst: burstHosts, Port: uint16(i)}
		openloop.Put(net, net.Host(i), func() (openloop.Frame, bool) { return f, true }, nil)
	}
	openloop.Put(net, net.Host(burstHosts), nil, nil)
	// A frame is stored whole, so the burst begins at the switch when its first frames have
	// arrived.
	first := (25 * gbps).Duration(frame + 20)
	var full units.Time
	net.Every(10*units.Nanosecond, func(now units.Time) bool {
		if s.Stored() > burstBuffer-frame {
			full = now
			net.Stop()
		}
		return true
	})
	if err := net.Run(units.Time(ms)); full == 0 {
		return 0, err
	}
	return full.Sub(units.Time(first)), nil
}
