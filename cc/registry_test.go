package cc_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// halfBDP is an algorithm of another package.
type halfBDP struct {
	part   float64
	window units.Bytes
}

func (h *halfBDP) Declare(s *cc.Settings) {
	s.Param(&h.part, "part", "0.5", "(0, 1]", "test", "share of a BDP")
}

func (h *halfBDP) Build(path cc.Path) cc.Algorithm {
	h.window = units.Bytes(h.part * float64(path.BDP()))
	return h
}

func (h *halfBDP) Events() cc.EventSet                  { return 0 }
func (h *halfBDP) Start(units.Time) cc.Decision         { return cc.Decision{Window: h.window} }
func (h *halfBDP) On(*cc.Event, units.Time) cc.Decision { return h.Start(0) }

func TestRegister(t *testing.T) {
	before := cc.Names()
	cc.Register(cc.Registration{
		Name: "test-half", Title: "a fixed part of a BDP", Needs: cc.SignalDelay,
		New: func() cc.Blueprint { return &halfBDP{} },
	})
	assert.Len(t, cc.Names(), len(before)+1)
	spec, err := cc.Parse("test-half:part=0.25")
	require.NoError(t, err)
	path := cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 8 * units.Microsecond, Payload: 1024}
	_, err = spec.New(path)
	assert.ErrorContains(t, err, "test-half needs delay")
	path.Signals = cc.SignalDelay
	a, err := spec.New(path)
	require.NoError(t, err)
	assert.Equal(t, units.Bytes(25_000), a.(*halfBDP).window)

	_, err = cc.Parse("test-half:part=2")
	assert.ErrorContains(t, err, "part=2 is outside (0, 1]")
	_, err = cc.Parse("test-half:whole=1")
	assert.ErrorContains(t, err, `unknown parameter "whole"`)
	var help bytes.Buffer
	require.NoError(t, cc.Help(&help, "test-half"))
	assert.Contains(t, help.String(), "share of a BDP")
}

type invalid struct{ halfBDP }

func (i *invalid) Declare(s *cc.Settings) {
	s.Param(&i.part, "part", "2", "(0, 1]", "test", "share of a BDP")
}

func TestRegisterPanics(t *testing.T) {
	ours := func(name string, b cc.Blueprint) func() {
		return func() {
			cc.Register(cc.Registration{Name: name, New: func() cc.Blueprint { return b }})
		}
	}
	assert.PanicsWithValue(t, `cc: algorithm "swift" is registered twice`,
		ours("swift", &halfBDP{}))
	assert.PanicsWithValue(t, `cc: name "Mine": want lower-case letters, digits and dashes`,
		ours("Mine", &halfBDP{}))
	assert.PanicsWithValue(t, "cc: test-invalid: part=2 is outside (0, 1]",
		ours("test-invalid", &invalid{}))
	_, err := cc.Parse("test-invalid")
	assert.ErrorContains(t, err, `unknown algorithm "test-invalid"`)
}

// An algorithm by marks is one that needs them or CNPs.
func TestByMarks(t *testing.T) {
	for name, by := range map[string]bool{"dctcp": true, "d2tcp": true, "dcqcn": true,
		"dcqcn-nic": true, "swift": false, "timely": false, "fixed": false, "hpcc": false} {
		spec, err := cc.Parse(name)
		require.NoError(t, err)
		require.Equal(t, by, spec.ByMarks(), name)
	}
	require.False(t, cc.Spec{}.ByMarks())
}
