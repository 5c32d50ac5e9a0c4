package main

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

// onTrial is a model whose points are on trial.
type onTrial struct {
	*bytetuning.Fluid
	confirmed, reverted int
	refuse, broken      error // of Confirm, of Measure
	instead             *bytetuning.Measurement
}

func (o *onTrial) Measure(ctx context.Context) (*bytetuning.Measurement, error) {
	if o.broken != nil {
		return nil, o.broken
	}
	if o.instead != nil {
		return o.instead, nil
	}
	return o.Fluid.Measure(ctx)
}

func (o *onTrial) Confirm(context.Context) error { o.confirmed++; return o.refuse }
func (o *onTrial) Revert(context.Context) error  { o.reverted++; return nil }

// TestFinish checks that a best point is kept only if the search and its last measurement succeed.
func TestFinish(t *testing.T) {
	unreachable := errors.New("no route to host")
	for _, c := range []struct {
		name           string
		change         func(o *onTrial, out *bytetuning.Outcome)
		interrupt      bool
		failed         error
		kept           bool
		printed, error string
	}{
		{name: "better", kept: true, printed: "confirmed  the switches keep the best point\n"},
		{name: "interrupted", interrupt: true, printed: "reverted   interrupted: "},
		{name: "failed", failed: unreachable, printed: "reverted   the search failed: "},
		{name: "no better", printed: "reverted   nothing was better than the start: ",
			change: func(_ *onTrial, out *bytetuning.Outcome) { out.Best = out.Start }},
		{name: "unreachable", printed: "reverted   the best point is not kept: ",
			error:  "could not be measured again: no route to host",
			change: func(o *onTrial, _ *bytetuning.Outcome) { o.broken = unreachable }},
		{name: "not confirmed", printed: "reverted   the best point is not kept: ",
			error:  "no route to host",
			change: func(o *onTrial, _ *bytetuning.Outcome) { o.refuse = unreachable }},
		{name: "worse", printed: "reverted   the best point is not kept: ",
			error: "measured again, the best point is worse than the start",
			change: func(o *onTrial, out *bytetuning.Outcome) {
				worse := *out.StartMeasurement
				worse.Switches = []bytetuning.Sample{{Throughput: units.Mbps,
					Queue: worse.Switches[0].Queue}}
				o.instead = &worse
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fluid, err := bytetuning.NewFluid("8x40G")
			require.NoError(t, err)
			n := &onTrial{Fluid: fluid}
			start, _, err := start("dcqcn", n.Layers(), bytetuning.Path{Rate: fluid.Config.Rate,
				RTT: fluid.Config.Delay, MTU: fluid.Config.Packet})
			require.NoError(t, err)
			o := bytetuning.NewObjective()
			tuner, err := bytetuning.New("anneal:tem=0.1,again=false", bytetuning.Problem{
				Layers: n.Layers(), Start: start, Energy: o.Energy, Seed: 1})
			require.NoError(t, err)
			out, err := (&bytetuning.Search{Target: n, Tuner: tuner, Objective: o, Start: start,
				Budget: 10}).Run(t.Context())
			require.NoError(t, err)
			require.False(t, out.Best.Equal(out.Start))
			if c.change != nil {
				c.change(n, out)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.interrupt {
				cancel()
			}
			var printed bytes.Buffer
			err = (&program{&printed, &printed}).finish(ctx, n, o, out, c.failed)
			if c.error == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.error)
			}
			assert.Contains(t, printed.String(), c.printed)
			assert.Equal(t, c.kept, n.reverted == 0)
		})
	}
}
