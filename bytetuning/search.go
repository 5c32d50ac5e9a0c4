package bytetuning

import (
	"context"
	"errors"
	"fmt"
)

// Search is a tuner at work on a target.
type Search struct {
	Target    Target
	Tuner     Tuner
	Objective *Objective // whose Energy the tuner was given
	// what is configured: measured first, and where the search ends when nothing is better
	Start    Point
	Budget   int  // evaluations, that of Start included; 0 is without limit
	Failures int  // in a row that end the search; 0 means 5
	Log      *Log // to go on from and to write; nil is none
	// Unchecked lets points pass that Layer.Check refuses. It is for models and simulations, to see
	// what they do.
	Unchecked bool
	// Each, unless nil, is called with each evaluation, those of a log that is gone on from
	// included.
	Each func(Progress)

	standings map[string]*standing
	order     []*standing
	best      *standing
	applied   Point
	taken     int // evaluations
	skipped   int
}

// Progress is one evaluation among those before.
type Progress struct {
	Evaluation
	N      int     // from 1
	Energy float64 // of the evaluation, 0 when it was skipped
	Again  bool    // read from the log
	// Best is the best point so far, and its energy by the records so far.
	Best       Point
	BestEnergy float64
}

// Outcome is what a search found.
type Outcome struct {
	Start, Best             Point
	StartEnergy, BestEnergy float64
	At, StartAt             *Measurement // the last of the best point, and of the start
	Evaluations, Skipped    int
	Over                    string // why it ended
}

// standing is all that is known of a point.
type standing struct {
	point    Point
	measured []*Measurement
	energy   float64 // mean, by the records at the time of the last update
}

// Run searches until the tuner is done, the budget is spent, the context ends, or the target fails.
// It ends with the best point applied whatever happened, unless the target refuses even that, which
// is an error that says so. The best is the point whose measurements have the best mean.
func (s *Search) Run(ctx context.Context) (*Outcome, error) {
	layers := s.Target.Layers()
	if len(s.Start) != len(layers) {
		return nil, s.Start.Check(layers)
	}
	if err := s.Objective.Validate(); err != nil {
		return nil, err
	}
	if s.Log == nil {
		s.Log = &Log{}
	}
	if s.Failures == 0 {
		s.Failures = 5
	}
	s.standings = map[string]*standing{}
	over, failed := s.play(layers)
	if over == "" && failed == nil {
		over, failed = s.explore(ctx, layers)
	}
	if len(s.order) == 0 { // not even the start was measured
		return nil, errors.Join(failed, s.settle(ctx, s.Start))
	}
	best, start := s.best, s.order[0]
	o := &Outcome{
		Start: s.Start, Best: best.point, StartEnergy: start.energy, BestEnergy: best.energy,
		Over: over,
		At:   best.measured[len(best.measured)-1], StartAt: start.measured[0], Evaluations: s.taken,
		Skipped: s.skipped,
	}
	return o, errors.Join(failed, s.settle(ctx, best.point))
}

// play hears the log again.
func (s *Search) play(layers []Layer) (over string, err error) {
	for i, e := range s.Log.Evaluations {
		point, more := s.propose()
		if !more || !point.Equal(e.Point) {
			return "", fmt.Errorf("bytetuning: the log does not follow from this search: "+
				"evaluation %d is of %v", i+1, e.Point)
		}
		s.hear(e, true)
	}
	return s.done(), nil
}

// propose answers the start first, then what the tuner wants.
func (s *Search) propose() (Point, bool) {
	if s.taken == 0 {
		return s.Start, true
	}
	return s.Tuner.Propose()
}

func (s *Search) done() string {
	if s.Budget > 0 && s.taken >= s.Budget {
		return "budget spent"
	}
	return ""
}

// explore goes on from where the log ends.
func (s *Search) explore(ctx context.Context, layers []Layer) (over string, err error) {
	failures := 0
	for s.done() == "" {
		if ctx.Err() != nil {
			return "interrupted", nil
		}
		point, more := s.propose()
		if !more {
			return "search complete", nil
		}
		m, err := s.evaluate(ctx, layers, point)
		if ctx.Err() != nil {
			return "interrupted", nil // what was measured while it ended is no measurement
		}
		e := Evaluation{Point: point, Measurement: m}
		if err != nil {
			e.Skipped = err.Error()
		}
		if err := s.Log.append(e); err != nil {
			return "", err
		}
		first := s.taken == 0
		s.hear(e, false)
		if err == nil {
			failures = 0
			continue
		}
		if failures++; failures >= s.Failures || first {
			return "", fmt.Errorf("bytetuning: stopped after %d failures in a row, the last: %w",
				failures, err)
		}
		if errors.Is(err, errApply) { // it may be half configured
			if err := s.settle(ctx, s.safe()); err != nil {
				return "", err
			}
		}
	}
	return s.done(), nil
}

// errApply is a target that refused a point.
var errApply = errors.New("not applied")

func (s *Search) evaluate(ctx context.Context, layers []Layer, p Point) (*Measurement, error) {
	if !s.Unchecked && s.taken > 0 { // the start is what is there
		if err := p.Check(layers); err != nil {
			return nil, err
		}
	}
	s.applied = nil
	if err := s.Target.Apply(ctx, p); err != nil {
		return nil, fmt.Errorf("%w: %w", errApply, err)
	}
	s.applied = p
	m, err := s.Target.Measure(ctx)
	if err == nil {
		err = m.Validate(len(layers))
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// safe is the best point that was measured, or the start.
func (s *Search) safe() Point {
	if s.best != nil {
		return s.best.point
	}
	return s.Start
}

// settle leaves the target with p, even if the context has ended.
func (s *Search) settle(ctx context.Context, p Point) error {
	if s.applied != nil && s.applied.Equal(p) {
		return nil
	}
	if err := s.Target.Apply(context.WithoutCancel(ctx), p); err != nil {
		s.applied = nil
		return fmt.Errorf("bytetuning: the target does not take %v back, look at it: %w", p, err)
	}
	s.applied = p
	return nil
}

// hear takes an evaluation into the standings and tells the tuner.
func (s *Search) hear(e Evaluation, again bool) {
	first := s.taken == 0
	s.taken++
	progress := Progress{Evaluation: e, N: s.taken, Again: again}
	if m := e.Measurement; m == nil {
		s.skipped++
	} else {
		records := s.Objective.Hear(m)
		key := fmt.Sprint(e.Point)
		at := s.standings[key]
		if at == nil {
			at = &standing{point: e.Point}
			s.standings[key] = at
			s.order = append(s.order, at)
		}
		at.measured = append(at.measured, m)
		s.rank(at, records)
		progress.Energy = s.Objective.Energy(m)
	}
	if s.best != nil {
		progress.Best, progress.BestEnergy = s.best.point, s.best.energy
	}
	if !first {
		s.Tuner.Hear(e.Measurement)
	}
	if s.Each != nil {
		s.Each(progress)
	}
}

// rank finds the best anew: of all after a record, and else of what changed.
func (s *Search) rank(changed *standing, records bool) {
	if !records && changed != s.best {
		s.weigh(changed)
		if changed.energy > s.best.energy {
			s.best = changed
		}
		return
	}
	if records {
		for _, at := range s.order {
			s.weigh(at)
		}
	} else {
		s.weigh(changed)
	}
	s.best = s.order[0]
	for _, at := range s.order {
		if at.energy > s.best.energy {
			s.best = at
		}
	}
}

func (s *Search) weigh(at *standing) {
	at.energy = 0
	for _, m := range at.measured {
		at.energy += s.Objective.Energy(m) / float64(len(at.measured))
	}
}
