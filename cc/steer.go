package cc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goroce/goroce/units"
)

// Steerable is an Algorithm that steers the delay of the fabric to a target, by a window, and lets
// whoever wraps it say more: what PrioPlus (EuroSys'25, section 4.1) asks of its original CC.
type Steerable interface {
	Algorithm
	Observable
	// Steer gives it a target, base round trip included, in place of its own and of every scaling,
	// and bounds of its window.
	Steer(target units.Duration, least, most Packets)
	// Decide answers the Decision that holds now.
	Decide() Decision
	// Cwnd is the window that the delay of the fabric governs.
	Cwnd() Packets
	// SetCwnd moves it.
	SetCwnd(w Packets)
	// Resume begins anew after a silence: with this window, and with this delay as if it were the
	// first sample. When the next cut may be is not forgotten.
	Resume(w Packets, delay units.Duration)
	// AI is the additive increase: what the window grows by in a round trip below target.
	AI() Packets
	// SetAI sets it. The step grows the window in the same way, and by itself: it does not become
	// smaller where the algorithm heeds how far the target is, and never lowers a window.
	SetAI(ai, step Packets)
	// Yield counts that the flow yielded to higher priorities.
	Yield(now units.Time)
}

// steerable is a blueprint whose algorithm may be a Steerable.
type steerable interface {
	// steered answers the parameters that whoever steers takes the place of, and what is set unless
	// something else is given; false when the algorithm cannot be steered after all.
	steered() (taken []string, defaults []setting, ok bool)
}

// Steerables answers the names of the algorithms that can be steered, in order.
func Steerables() []string {
	return slices.DeleteFunc(Names(), func(name string) bool {
		e, _ := lookup(name)
		_, _, ok := e.steered()
		return !ok
	})
}

func (e entry) steered() (taken []string, defaults []setting, ok bool) {
	if b, is := e.new().(steerable); is {
		return b.steered()
	}
	return nil, nil, false
}

// Steered makes the algorithm for one flow, as New does, to be steered. It refuses what
// CheckSteered refuses.
func (s Spec) Steered(path Path) (Steerable, error) {
	if err := s.CheckSteered(); err != nil {
		return nil, err
	}
	e, _ := lookup(s.name)
	given, _ := e.parse(s.settings)
	_, defaults, _ := e.steered()
	for _, d := range defaults {
		if !isGiven(given, d.key) {
			s.settings = strings.TrimPrefix(s.settings+","+d.key+"="+d.value, ",")
		}
	}
	a, err := s.New(path)
	if err != nil {
		return nil, err
	}
	return a.(Steerable), nil
}

// CheckSteered says why the algorithm cannot be steered: it has no delay target that could be
// moved, or a parameter is given that whoever steers takes the place of.
func (s Spec) CheckSteered() error {
	e, err := lookup(s.name)
	if err != nil {
		return err
	}
	taken, _, ok := e.steered()
	if !ok {
		return fmt.Errorf("cc: %s has no delay target that could be moved; %s have", s.name,
			strings.Join(Steerables(), " and "))
	}
	given, err := e.parse(s.settings)
	if err != nil {
		return fmt.Errorf("cc: %s: %w", s.name, err)
	}
	for _, g := range given {
		if slices.Contains(taken, g.key) {
			return fmt.Errorf("cc: %s: %s=%s cannot be given to a flow with a channel, which "+
				"takes the place of %s",
				s.name, g.key, g.value, strings.Join(taken, ", "))
		}
	}
	return nil
}

// Yield is that of Steerable.
func (r *record) Yield(now units.Time) { r.cut(Yielded, now) }
