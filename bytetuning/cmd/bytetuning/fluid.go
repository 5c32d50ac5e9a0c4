package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/bytetuning/fluid"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

func format(f string, v float64) string { return fmt.Sprintf(f, v) }

// quantity is a flag with a unit.
type quantity[T ~int64] struct {
	into  *T
	parse func(string) (T, error)
	show  func(T) string
	kind  string
}

func (q quantity[T]) String() string {
	if q.into == nil {
		return ""
	}
	return q.show(*q.into)
}
func (q quantity[T]) Type() string { return q.kind }
func (q quantity[T]) Set(text string) (err error) {
	v, err := q.parse(text)
	if err == nil {
		*q.into = v
	}
	return err
}

func size(b *units.Bytes) quantity[units.Bytes] {
	return quantity[units.Bytes]{b, units.ParseBytes, units.Bytes.String, "size"}
}
func rate(r *units.BitRate) quantity[units.BitRate] {
	return quantity[units.BitRate]{r, units.ParseBitRate, units.BitRate.String, "rate"}
}
func duration(d *units.Duration) quantity[units.Duration] {
	return quantity[units.Duration]{d, units.ParseDuration, units.Duration.String, "time"}
}

func (p *program) fluidCommand() *cobra.Command {
	c := fluid.Default(8, 40*units.Gbps)
	var out string
	cmd := &cobra.Command{
		Use:   "fluid",
		Short: "Integrate the model of DCQCN, ECN and PFC",
		Long: `fluid integrates equations 6 to 13 of the paper, with their misprints
corrected, for N equal flows through a leaf S1 and the receiver's switch S0. It
prints the fixed point and whether it is stable. With --out it draws rate,
queues and loss over time.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return p.fluid(c, out) },
	}
	f := cmd.Flags()
	f.IntVar(&c.Flows[0].N, "flows", c.Flows[0].N, "number of flows, N")
	f.Var(rate(&c.Flows[0].Start), "start", "initial rate of a flow")
	f.Var(rate(&c.Rate), "rate", "rate of the bottleneck, C")
	f.Var(size(&c.Buffer), "buffer", "buffer of each switch")
	f.Var(size(&c.Kmin), "kmin", "queue above which ECN marks")
	f.Var(size(&c.Kmax), "kmax", "queue above which ECN marks every packet")
	f.Float64Var(&c.Pmax, "pmax", c.Pmax, "marking probability at Kmax, from 0 to 1")
	f.Var(size(&c.Kpfc), "kpfc", "queue that triggers a pause; 0 disables PFC")
	f.Var(duration(&c.Pause), "pause", "length of a pause")
	f.Var(size(&c.XON), "xon", "queue that ends a pause early; 0 disables it")
	f.Var(rate(&c.Uplink), "uplink", "rate of the link from S1 to S0; 0 for the paper's equations")
	f.Var(duration(&c.Delay), "delay", "delay of the feedback, tau*")
	f.Var(duration(&c.Horizon), "horizon", "simulated time")
	f.Var(duration(&c.Step), "step", "time step of the integration")
	f.BoolVar(&c.AsPublished, "as-published", false, "count loss as the authors' program does")
	f.StringVar(&out, "out", "", "directory for figures")
	return cmd
}

func (p *program) fluid(c fluid.Config, out string) error {
	if out != "" {
		c.Every = max(c.Step, c.Horizon/2000)
	}
	r, err := fluid.Run(c)
	if err != nil {
		return cli.Usage(err)
	}
	fmt.Fprintf(p.out, "rate of a flow    %v at the end, %v at least\n", r.Rate, r.RateMin)
	fmt.Fprintf(p.out, "queue of S0       %.2f packets at the end, %.1f at most; S1 %.1f at most\n",
		r.Queue, r.QueueMax, r.UpstreamMax)
	fmt.Fprintf(p.out, "lost              %.0f packets\n", r.Lost)
	fmt.Fprintf(p.out, "pauses            %d, %v in all\n", r.Pauses, r.Paused)
	fmt.Fprintf(p.out, "link used         %.2f %%\n", 100*r.Utilisation)
	at, err := fluid.FixedPoint(c)
	if err == nil && at.Equilibrium {
		fmt.Fprintf(p.out, "fixed point       p* %.4g, alpha* %.4f, R_T* %v, q* %.2f packets\n",
			at.Mark, at.Alpha, at.Target, at.Queue)
		if growth, err := fluid.Growth(c); err == nil && growth < 0 {
			fmt.Fprintf(p.out, "                  stable: disturbances decay at %.0f/s\n", -growth)
		} else if err == nil {
			fmt.Fprintf(p.out, "                  unstable: disturbances grow at %.0f/s into a "+
				"limit cycle\n", growth)
		}
	} else if err == nil {
		fmt.Fprintf(p.out, "fixed point       none below Kmax: p* %.4g is above Pmax\n",
			at.Mark)
	}
	if out == "" {
		return nil
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	s := r.Series
	scaled := func(v []float64, k float64) (w []float64) {
		for _, x := range v {
			w = append(w, x*k)
		}
		return w
	}
	t, name := scaled(s.Time, 1e3), strconv.Itoa(c.Flows[0].N)+" flows"
	for _, f := range []figure.Figure{
		figure.Lines("fluid-rate", "Rate of a flow, "+name, "time (ms)", "rate (Gb/s)").Add("R_C",
			t, scaled(s.Rate, 1e-9)),
		figure.Lines("fluid-queues", "Queues, "+name, "time (ms)", "queue (packets)").Add("S0", t,
			s.Queue).Add("S1", t, s.Upstream),
		figure.Lines("fluid-lost", "Loss at S1, "+name, "time (ms)", "packets").Add("lost", t,
			s.Lost),
	} {
		file, data, err := f.Encode()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, file), data, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(p.out, filepath.Join(out, file))
	}
	return nil
}
