package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/goroce/goroce/test/interop/matrix"
	"github.com/goroce/goroce/test/interop/report"
	"github.com/goroce/goroce/units"
)

// figure is a test for which the median of each contender is measured. The contenders take turns,
// so that other load affects all of them alike.
type figure struct {
	test       matrix.Test
	size       units.Bytes
	iterations int
}

// figures are all figures. A run of each takes rxe about a second.
var figures = []figure{
	{matrix.WriteBW, 4 * units.KiB, 8000},
	{matrix.WriteBW, 64 * units.KiB, 800},
	{matrix.WriteLat, 2, 3000},
	{matrix.SendLat, 2, 3000},
}

// contender is a pair of ends.
type contender struct {
	name string
	run  func(*lab, context.Context, figure) (report.Row, error)
}

var contenders = []contender{
	{"rxe to rxe", (*lab).rxeToRXE},
	{"goroce to rxe", (*lab).goroceToRXE},
	{"rxe to goroce", (*lab).rxeToGoroce},
	{"goroce to goroce", (*lab).goroceToGoroce},
}

// Path MTU and time limit of all figures.
const (
	figureMTU   = 4096
	figureLimit = 60 * time.Second
)

func (f figure) cell(ours matrix.Role) matrix.Cell {
	return matrix.Cell{Test: f.test, Role: ours, Service: matrix.RC, IP: matrix.IPv4, Size: f.size,
		MTU: figureMTU, QPs: 1}
}

// iterated appends the figure's iterations to a command line, whose last -n applies.
func (f figure) iterated(line []string) []string {
	return append(line, "-n", fmt.Sprint(f.iterations))
}

// toward replaces the server in a client's command line.
func toward(server string, line []string) []string {
	return append(line[:len(line)-1:len(line)-1], server)
}

// secondIPv4 is the second guest's address.
const secondIPv4 = "198.18.0.2"

func (l *lab) rxeToRXE(ctx context.Context, f figure) (report.Row, error) {
	server := l.second.start(figureLimit, f.iterated(f.cell(matrix.Client).Theirs())...)
	if err := l.listening(ctx, l.second, f.cell(matrix.Client), server); err != nil {
		return report.Row{}, err
	}
	line := toward(secondIPv4, f.cell(matrix.Server).Theirs())
	return f.result(ctx, server, l.peer.start(figureLimit, f.iterated(line)...))
}

func (l *lab) goroceToRXE(ctx context.Context, f figure) (report.Row, error) {
	server := l.peer.start(figureLimit, f.iterated(f.cell(matrix.Client).Theirs())...)
	if err := l.listening(ctx, l.peer, f.cell(matrix.Client), server); err != nil {
		return report.Row{}, err
	}
	return f.result(ctx, server,
		launch(f.iterated(f.cell(matrix.Client).Ours(l.bin(), iface, ""))...))
}

func (l *lab) rxeToGoroce(ctx context.Context, f figure) (report.Row, error) {
	server := launch(f.iterated(f.cell(matrix.Server).Ours(l.bin(), iface, ""))...)
	if err := l.serving(ctx, f.cell(matrix.Server), server); err != nil {
		return report.Row{}, err
	}
	return f.result(ctx, server,
		l.peer.start(figureLimit, f.iterated(f.cell(matrix.Server).Theirs())...))
}

// Names of the veth pair between two ends of ours.
const (
	twinServer = "twin0"
	twinClient = "twin1"
)

func (l *lab) goroceToGoroce(ctx context.Context, f figure) (report.Row, error) {
	server := launch(f.iterated(f.cell(matrix.Server).Ours(l.bin(), twinServer, ""))...)
	if err := l.serving(ctx, f.cell(matrix.Server), server); err != nil {
		return report.Row{}, err
	}
	line := toward("127.0.0.1", f.cell(matrix.Client).Ours(l.bin(), twinClient, ""))
	for i := range line { // differs from the server's address
		line[i] = strings.NewReplacer("198.18.0.101", "198.18.0.102", "fd18::101",
			"fd18::102").Replace(line[i])
	}
	return f.result(ctx, server, launch(f.iterated(line)...))
}

// result waits for both ends and returns the client's row.
func (f figure) result(ctx context.Context, server, client *program) (report.Row, error) {
	defer server.end()
	defer client.end()
	if err := finish(ctx, server, client); err != nil {
		return report.Row{}, err
	}
	for _, p := range []*program{client, server} {
		if err := p.outcome().err(); err != nil {
			return report.Row{}, fmt.Errorf("%s: %w", p, err)
		}
	}
	rows, err := report.Table(client.outcome().out)
	if err != nil {
		return report.Row{}, err
	}
	return rows[0], nil
}

// value returns the number that a figure compares.
func (f figure) value(r report.Row) float64 {
	if f.test.Latency() {
		return r.Latency
	}
	return r.Bandwidth
}

// than returns how many times as good a value is as another.
func (f figure) than(value, other float64) float64 {
	if f.test.Latency() {
		return other / value
	}
	return value / other
}

// figures measures all figures and prints the medians, with -doc also into the page.
func (l *lab) figures(ctx context.Context, o options, w io.Writer) error {
	if err := layPair(twinServer, twinClient); err != nil {
		return err
	}
	defer removePair(twinServer)
	values := make([][][]float64, len(figures)) // by figure and contender
	for i := range values {
		values[i] = make([][]float64, len(contenders))
	}
	for round := range o.rounds {
		for i, f := range figures {
			for j, c := range contenders {
				ctx, cancel := context.WithTimeout(ctx, figureLimit)
				r, err := c.run(l, ctx, f)
				cancel()
				if err != nil {
					return fmt.Errorf("%s, %s of %v: %w", c.name, f.test, f.size, err)
				}
				values[i][j] = append(values[i][j], f.value(r))
				fmt.Fprintf(w, "round %d: %s of %v: %-17s %s\n", round+1, f.test, f.size, c.name,
					r.Figure())
			}
		}
	}
	table := medians(values)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t)
	for _, line := range table {
		fmt.Fprintln(t, strings.Join(line, "\t"))
	}
	err := t.Flush()
	if o.page != "" {
		text := fmt.Sprintf("Medians of %d rounds, in which all take turns. %s\n\n%s", o.rounds,
			l.setting(ctx), markdown(table))
		err = errors.Join(err, write(o.page, "figures", text))
	}
	return err
}

// medians returns a table of the figures: each contender's median, and ours relative to rxe's.
func medians(values [][][]float64) [][]string {
	head := []string{"test"}
	for _, c := range contenders {
		head = append(head, c.name)
	}
	table := [][]string{append(head, "goroce to rxe / rxe to rxe", "rxe to goroce / rxe to rxe")}
	for i, f := range figures {
		unit := "MiB/s"
		if f.test.Latency() {
			unit = "us"
		}
		line := []string{fmt.Sprintf("%s, %v, %s", f.test, f.size, unit)}
		var m []float64
		for _, v := range values[i] {
			m = append(m, median(v))
			line = append(line, fmt.Sprintf("%.1f", m[len(m)-1]))
		}
		line = append(line, fmt.Sprintf("%.2f", f.than(m[1], m[0])),
			fmt.Sprintf("%.2f", f.than(m[2], m[0])))
		table = append(table, line)
	}
	return table
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
