package prioplus

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"time"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// wrapper is the file of the algorithm around the original CC, and algorithm1 the functions in it
// that are Algorithm 1 of the paper. The others are constructors, the transport's interface, hosts
// without time stamps, measuring and display.
const wrapper = "prioplus/prioplus.go"

var algorithm1 = []string{"newAck", "estimateFlows", "setWAI", "onRoundTrip", "atBase",
	"countDownFlows", "yield", "stop", "scheduleProbe", "onProbe", "newProbeAck", "linearStartCwnd",
	"linearStep", "cautiousCwnd", "resume"}

// sec5 measures the cost of PrioPlus. Its times depend on the machine.
var sec5 = &experiment.Experiment{
	ID:    "prioplus/sec5",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		j.Value("file") // no values unless the source is there
		j.Value("algorithm")
		switch all, functions, err := linesOf(wrapper, algorithm1...); {
		case errors.Is(err, fs.ErrNotExist): // a program far from its source
		case err != nil:
			return err
		default:
			j.Value("file", float64(all))
			j.Value("algorithm", float64(functions))
		}
		flow := reflect.TypeFor[prioplus.PrioPlus]()
		constants, _ := flow.FieldByName("constants")
		state, _ := flow.FieldByName("flow")
		j.Value("state", float64(flow.Size()))
		j.Value("variables", float64(state.Type.NumField()))
		j.Value("constants", float64(constants.Type.Elem().Size()))

		wrapped, bare, err := costs(experiment.At(j.Scale, 5000, 1000))
		if err != nil {
			return err
		}
		j.Value("wrapped", wrapped...)
		j.Value("bare", bare...)
		return nil
	},
	Judge: func(r *experiment.Results) {
		if lines := r.Values("algorithm").Sum(); lines > 0 {
			r.Claim("lines", lines)
			r.Note("lines", "of the functions that are Algorithm 1, with the branches of options "+
				"in them; their file has %g, with the transport's interface and the state for "+
				"display", r.Values("file").Sum())
		} else {
			r.Note("lines", "the source is not in the directory in which the program was built")
		}
		r.Claim("state", r.Values("state")[0])
		r.Note("state", "%g variables; the constants of a channel and a path are %g B more, now "+
			"for each flow, though flows of a priority could share them",
			r.Values("variables")[0], r.Values("constants")[0])
		// Pairs of runs close to each other: what slows the machine slows both.
		differences := r.Values("wrapped")
		for i, bare := range r.Values("bare") {
			differences[i] -= bare
		}
		r.Claim("ns", differences.Percentile(50))
		r.Note("ns", "median of pairs of runs on this machine, other programs beside it; Swift "+
			"alone %.0f ns, at best %.0f and %.0f",
			r.Values("bare").Percentile(50), r.Values("bare").Min(), r.Values("wrapped").Min())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{figure.CDF("ns", "An acknowledgement, in runs that alternate",
			"time (ns)").
			Samples("prioplus(swift)", r.Values("wrapped")).Samples("swift", r.Values("bare"))}
	},
}

// linesOf counts the lines with code of a file of the module, and those of some of its functions:
// in the tree in which this program was built or, if its paths were trimmed, in the working
// directory.
func linesOf(name string, functions ...string) (all, some int, err error) {
	_, here, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../..", name))
	if errors.Is(err, fs.ErrNotExist) {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return 0, 0, err
	}
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, name, text, 0)
	if err != nil {
		return 0, 0, err
	}
	within := map[int]bool{}
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && slices.Contains(functions, f.Name.Name) {
			for n := files.Position(f.Pos()).Line; n <= files.Position(f.End()).Line; n++ {
				within[n] = true
			}
		}
	}
	lines := map[int]bool{}
	var s scanner.Scanner
	file := files.AddFile(name, -1, len(text))
	s.Init(file, text, nil, 0) // without comments
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok != token.SEMICOLON || lit != "\n" { // the scanner's own, at the end of a line
			lines[file.Line(pos)] = true
		}
	}
	for n := range lines {
		if within[n] {
			some++
		}
	}
	return len(lines), some, nil
}

// costs returns the nanoseconds of an acknowledgement with PrioPlus around Swift and with Swift
// alone, in a number of alternating runs of each. The flow is in its channel and stays there.
func costs(rounds int) (wrapped, bare []float64, err error) {
	path := cc.Path{LineRate: rate, BaseRTT: 12 * units.Microsecond, Payload: payload, Hops: 1,
		Signals: cc.SignalDelay}
	inner, err := cc.Parse("swift")
	if err != nil {
		return nil, nil, err
	}
	with, err := prioplus.Spec{Inner: inner, Priority: 4}.New(path)
	if err != nil {
		return nil, nil, err
	}
	steered, err := inner.Steered(path)
	if err != nil {
		return nil, nil, err
	}
	const target = 32 * units.Microsecond // priority 4 is the fifth
	steered.Steer(target, 0.001, 1000)
	steered.Resume(10, target)

	now := units.Time(units.Second)
	with.(cc.Starter).Start(now)
	with.On(&cc.Event{Kind: cc.POST, Left: units.GiB}, now)
	with.On(&cc.Event{Kind: cc.RTT, Probe: true, Delay: 12 * units.Microsecond, Left: units.GiB},
		now)
	for round := range rounds {
		now = now.Add(units.Millisecond)
		bare = append(bare, ackCost(steered, round, target, now))
		wrapped = append(wrapped, ackCost(with, round, target, now))
	}
	return wrapped, bare, nil
}

// ackCost times acknowledgements, one a packet, whose delay swings by a microsecond about the
// target.
func ackCost(a cc.Algorithm, round int, target units.Duration, now units.Time) float64 {
	const acks = 1000 // in less than a time slice of the scheduler
	ev := cc.Event{Kind: cc.RTT, Packets: 1, Bytes: payload, InFlight: 400 * payload,
		Left: units.GiB}
	begin := time.Now()
	for i := range acks {
		ev.PSN, ev.SndNxt = uint32(round*acks+i)&0xffffff, uint32(round*acks+i+400)&0xffffff
		ev.Delay = target + units.Duration(i%32-16)*60*units.Nanosecond
		now = now.Add(100 * units.Nanosecond)
		a.On(&ev, now)
	}
	return float64(time.Since(begin).Nanoseconds()) / acks
}
