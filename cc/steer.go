package cc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goroce/goroce/units"
)

// Steerable is an Algorithm that steers the delay of the fabric to a target, by a window, and whose
// target, window and increase a wrapper can set: PrioPlus (EuroSys'25, section 4.1) requires this
// of its original CC.
type Steerable interface {
	Algorithm
	Observable
	// Steer sets a target, base round trip included, that replaces its own one and all scaling, and
	// the bounds of its window.
	Steer(target units.Duration, least, most Packets)
	// Decision returns the current Decision.
	Decision() Decision
	// Cwnd returns the window that the delay of the fabric governs.
	Cwnd() Packets
	// SetCwnd sets that window.
	SetCwnd(w Packets)
	// Resume restarts after a silence: with this window, and with this delay as the first sample.
	// The cooldown of cuts continues.
	Resume(w Packets, delay units.Duration)
	// AI returns the additive increase: what the window grows by in a round trip below target.
	AI() Packets
	// SetAI sets the increase. step is added to the growth in the same way, but is not scaled with
	// the distance from the target, and never lowers a window.
	SetAI(ai, step Packets)
	// Yield records that the flow yielded to higher priorities.
	Yield(now units.Time)
}

// steerable is a blueprint whose algorithm may be a Steerable.
type steerable interface {
	// steered returns the parameters that steering replaces, and settings that apply unless given;
	// false when the algorithm cannot be steered.
	steered() (taken []string, defaults []setting, ok bool)
}

// Steerables returns the names of the algorithms that can be steered, sorted.
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

// Steered returns the algorithm for one flow, as New does, for steering. It returns the errors of
// CheckSteered.
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

// CheckSteered returns an error if the algorithm cannot be steered: it has no delay target to move,
// or a given parameter is one that steering replaces.
func (s Spec) CheckSteered() error {
	e, err := lookup(s.name)
	if err != nil {
		return err
	}
	taken, _, ok := e.steered()
	if !ok {
		return fmt.Errorf("cc: %s has no delay target to move, want %s", s.name,
			strings.Join(Steerables(), " or "))
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

// Yield implements Steerable.
func (r *record) Yield(now units.Time) { r.cut(Yielded, now) }
