package bytetuning

import (
	"context"
	"errors"
	"fmt"
)

// Search runs a tuner on a target.
type Search struct {
	Target    Target
	Tuner     Tuner
	Objective *Objective // the tuner must use its Energy
	// Start is the configured point. It is measured first, and applied at the end when nothing is
	// better.
	Start    Point
	Budget   int  // evaluations, including that of Start; 0 means no limit
	Failures int  // consecutive failures that end the search; 0 means 5
	Log      *Log // resumed from and written; nil means none
	// Unchecked also applies points that Layer.Check rejects. It is for models and simulations.
	Unchecked bool
	// Each, unless nil, is called with each evaluation, including those replayed from a log.
	Each func(Progress)

	candidates map[string]*candidate
	order      []*candidate
	best       *candidate
	applied    Point
	evaluated  int // evaluations
	skipped    int
}

// Progress is one evaluation and the best point so far.
type Progress struct {
	Evaluation
	N        int     // from 1
	Energy   float64 // of the evaluation, 0 when it was skipped
	Replayed bool    // read from the log
	// Best is the best point so far, and its energy by the records so far.
	Best       Point
	BestEnergy float64
	// BestMeasurement is its last one. Energies change with records, measurements do not.
	BestMeasurement *Measurement
}

// Outcome is the result of a search.
type Outcome struct {
	Start, Best             Point
	StartEnergy, BestEnergy float64
	// BestMeasurement is the last one of the best point, StartMeasurement the first of the start.
	BestMeasurement, StartMeasurement *Measurement
	Evaluations, Skipped              int
	StopReason                        string // why the search ended
}

// candidate is a point with all its measurements.
type candidate struct {
	point    Point
	measured []*Measurement
	energy   float64 // mean energy, with the records at the last update
}

// Run searches until the tuner is done, the budget is spent, the context ends, or the target fails.
// In every case it leaves the best point applied; if the target rejects even that, Run returns an
// error. The best point is the one whose measurements have the highest mean energy.
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
	s.candidates = map[string]*candidate{}
	reason, failed := s.replay(layers)
	if reason == "" && failed == nil {
		reason, failed = s.continueSearch(ctx, layers)
	}
	if len(s.order) == 0 { // not even the start was measured
		return nil, errors.Join(failed, s.ensureApplied(ctx, s.Start))
	}
	best, start := s.best, s.order[0]
	o := &Outcome{
		Start: s.Start, Best: best.point,
		StartEnergy: start.energy, BestEnergy: best.energy,
		StartMeasurement: start.measured[0],
		BestMeasurement:  best.measured[len(best.measured)-1],
		Evaluations:      s.evaluated, Skipped: s.skipped, StopReason: reason,
	}
	return o, errors.Join(failed, s.ensureApplied(ctx, best.point))
}

// replay feeds the log's evaluations to the tuner.
func (s *Search) replay(layers []Layer) (reason string, err error) {
	for i, e := range s.Log.Evaluations {
		point, more := s.propose()
		if !more || !point.Equal(e.Point) {
			return "", fmt.Errorf("bytetuning: the log does not match this search: "+
				"evaluation %d is of %v", i+1, e.Point)
		}
		s.record(e, true)
	}
	return s.stopReason(), nil
}

// propose returns the start first, then the tuner's proposals.
func (s *Search) propose() (Point, bool) {
	if s.evaluated == 0 {
		return s.Start, true
	}
	return s.Tuner.Propose()
}

func (s *Search) stopReason() string {
	if s.Budget > 0 && s.evaluated >= s.Budget {
		return "budget spent"
	}
	return ""
}

// continueSearch evaluates proposals from where the log ends.
func (s *Search) continueSearch(ctx context.Context, layers []Layer) (reason string, err error) {
	failures := 0
	for s.stopReason() == "" {
		if ctx.Err() != nil {
			return "interrupted", nil
		}
		point, more := s.propose()
		if !more {
			return "search complete", nil
		}
		m, err := s.evaluate(ctx, layers, point)
		if ctx.Err() != nil {
			return "interrupted", nil // discard a measurement that was cut short
		}
		e := Evaluation{Point: point, Measurement: m}
		if err != nil {
			e.Skipped = err.Error()
		}
		if err := s.Log.append(e); err != nil {
			return "", err
		}
		first := s.evaluated == 0
		s.record(e, false)
		if err == nil {
			failures = 0
			continue
		}
		if failures++; failures >= s.Failures || first {
			return "", fmt.Errorf("bytetuning: stopped after %d consecutive failures, the last: %w",
				failures, err)
		}
		if errors.Is(err, errNotApplied) { // the target may be partly configured
			if err := s.ensureApplied(ctx, s.bestOrStart()); err != nil {
				return "", err
			}
		}
	}
	return s.stopReason(), nil
}

// errNotApplied reports that the target rejected a point.
var errNotApplied = errors.New("not applied")

func (s *Search) evaluate(ctx context.Context, layers []Layer, p Point) (*Measurement, error) {
	if !s.Unchecked && s.evaluated > 0 { // the start is already configured
		if err := p.Check(layers); err != nil {
			return nil, err
		}
	}
	s.applied = nil
	if err := s.Target.Apply(ctx, p); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotApplied, err)
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

// bestOrStart returns the best measured point, or the start if none was measured.
func (s *Search) bestOrStart() Point {
	if s.best != nil {
		return s.best.point
	}
	return s.Start
}

// ensureApplied applies p unless it is applied already, even if the context has ended.
func (s *Search) ensureApplied(ctx context.Context, p Point) error {
	if s.applied != nil && s.applied.Equal(p) {
		return nil
	}
	if err := s.Target.Apply(context.WithoutCancel(ctx), p); err != nil {
		s.applied = nil
		return fmt.Errorf("bytetuning: the target rejects %v, which it had before; inspect "+
			"it: %w", p, err)
	}
	s.applied = p
	return nil
}

// record adds an evaluation to the candidates and passes its measurement to the tuner.
func (s *Search) record(e Evaluation, replayed bool) {
	first := s.evaluated == 0
	s.evaluated++
	progress := Progress{Evaluation: e, N: s.evaluated, Replayed: replayed}
	if m := e.Measurement; m == nil {
		s.skipped++
	} else {
		records := s.Objective.Observe(m)
		key := fmt.Sprint(e.Point)
		c := s.candidates[key]
		if c == nil {
			c = &candidate{point: e.Point}
			s.candidates[key] = c
			s.order = append(s.order, c)
		}
		c.measured = append(c.measured, m)
		s.rank(c, records)
		progress.Energy = s.Objective.Energy(m)
	}
	if s.best != nil {
		progress.Best, progress.BestEnergy = s.best.point, s.best.energy
		progress.BestMeasurement = s.best.measured[len(s.best.measured)-1]
	}
	if !first {
		s.Tuner.Observe(e.Measurement)
	}
	if s.Each != nil {
		s.Each(progress)
	}
}

// rank updates the best candidate. New records change the energies of all candidates; otherwise
// only that of changed is recomputed.
func (s *Search) rank(changed *candidate, records bool) {
	if !records && changed != s.best {
		s.updateEnergy(changed)
		if changed.energy > s.best.energy {
			s.best = changed
		}
		return
	}
	if records {
		for _, c := range s.order {
			s.updateEnergy(c)
		}
	} else {
		s.updateEnergy(changed)
	}
	s.best = s.order[0]
	for _, c := range s.order {
		if c.energy > s.best.energy {
			s.best = c
		}
	}
}

func (s *Search) updateEnergy(c *candidate) {
	c.energy = 0
	for _, m := range c.measured {
		c.energy += s.Objective.Energy(m) / float64(len(c.measured))
	}
}
