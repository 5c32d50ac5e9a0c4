package report

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/runner"
)

// Lab is what results refer to: the catalogue, and the experiments that this program can judge.
type Lab struct {
	Catalogue   *claims.Catalogue
	Experiments []*experiment.Experiment
}

// Gather reads results. It merges the records of all directories into the first one and judges them
// there again with this program's experiments. Results without records (those that were committed),
// or of experiments without code here, are shown as they are.
//
// It returns a page even with an error. The error joins the problems of single experiments; the
// page
// shows them as well.
func (l *Lab) Gather(dirs ...string) (*Page, error) {
	ids, err := found(dirs)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("report: no results in %s; lab run … --out %s makes some",
			strings.Join(dirs, ", "), dirs[0])
	}
	page := &Page{}
	var problems []error
	for _, e := range l.Catalogue.Experiments {
		if !slices.Contains(ids, e.ID) {
			continue
		}
		view, err := l.view(e, dirs)
		if err != nil {
			view.Problems = append(view.Problems, err.Error())
			problems = append(problems, err)
		}
		page.add(l.Catalogue, view)
	}
	for _, id := range ids {
		if l.Catalogue.Find(id) == nil {
			problems = append(problems,
				fmt.Errorf("report: %s: the catalogue has no such experiment", id))
		}
	}
	return page, errors.Join(problems...)
}

// found returns the ids of all experiments in directories.
func found(dirs []string) ([]string, error) {
	var all []string
	for _, dir := range dirs {
		ids, err := runner.Found(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// view merges, judges and reads the results of one experiment.
func (l *Lab) view(e *claims.Experiment, dirs []string) (*Experiment, error) {
	v := newExperiment(e)
	i := slices.IndexFunc(l.Experiments, func(x *experiment.Experiment) bool {
		return x.ID == e.ID
	})
	if i < 0 {
		return v, v.readAny(dirs)
	}
	into := dirs[0]
	for _, from := range dirs[1:] {
		if filepath.Clean(from) == filepath.Clean(into) {
			continue
		}
		if err := runner.Merge(into, from, e.ID); err != nil {
			return v, err
		}
	}
	plan, err := runner.LoadPlan(into, l.Experiments[i])
	if err != nil {
		return v, err
	}
	if plan == nil {
		return v, v.readAny(dirs)
	}
	state, err := runner.Finish(into, plan, e, nil)
	v.setPlan(plan, state)
	if err != nil || !state.Complete() {
		return v, err
	}
	return v, v.read(runner.Path(into, e.ID))
}
