package report

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// Errors of a table.
var (
	ErrNoTable = errors.New("it printed no table")
	ErrTable   = errors.New("not perftest's table")
)

// Row is a line of perftest's table.
type Row struct {
	Size       units.Bytes
	Iterations int // of all queue pairs
	// One of the two, by the kind of test.
	Bandwidth float64 // average, in MiB/s
	Latency   float64 // typical, in microseconds
}

// Figure shows a row's one number that matters, with its unit.
func (r Row) Figure() string {
	if r.Latency > 0 {
		return fmt.Sprintf("%.1f us", r.Latency)
	}
	return fmt.Sprintf("%.2f MiB/s", r.Bandwidth)
}

// Columns of the two tables, after size and iterations.
const (
	columnAverage = 3 // bandwidth: peak, average, message rate
	columnTypical = 4 // latency: least, most, typical, ...
	leastColumns  = 5
)

// Table reads the last table in a text: there is one in perftest's output, with a heading that
// says which it is. "MB/sec" of perftest 4.5 and "MiB/sec" of later ones are both 2^20 bytes.
func Table(text string) ([]Row, error) {
	const title = " #bytes"
	at := strings.LastIndex(text, title)
	if at < 0 {
		return nil, ErrNoTable
	}
	heading, body, _ := strings.Cut(text[at+len(title):], "\n")
	latency := strings.Contains(heading, "t_typical[usec]")
	scale := 1.0
	switch {
	case latency, strings.Contains(heading, "average[MB/sec]"),
		strings.Contains(heading, "average[MiB/sec]"):
	case strings.Contains(heading, "average[Gb/sec]"):
		scale = 1e9 / 8 / float64(units.MiB)
	default:
		return nil, fmt.Errorf("%w: heading %q", ErrTable, heading)
	}
	var rows []Row
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "---") {
			break
		}
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if d := fields[0][0]; d < '0' || d > '9' {
			continue // a remark, such as ours on fairness
		}
		r, err := row(fields, latency, scale)
		if err != nil {
			return nil, fmt.Errorf("%w: %q: %w", ErrTable, strings.TrimSpace(line), err)
		}
		rows = append(rows, r)
	}
	if rows == nil {
		return nil, fmt.Errorf("%w: there is a heading and no row", ErrNoTable)
	}
	return rows, nil
}

func row(fields []string, latency bool, scale float64) (r Row, err error) {
	if len(fields) < leastColumns {
		return r, fmt.Errorf("%d columns", len(fields))
	}
	size, err := strconv.ParseUint(fields[0], 10, 62)
	if err != nil {
		return r, err
	}
	iterations, err := strconv.ParseUint(fields[1], 10, 31)
	if err != nil {
		return r, err
	}
	r.Size, r.Iterations = units.Bytes(size), int(iterations)
	if latency {
		r.Latency, err = strconv.ParseFloat(fields[columnTypical], 64)
		return r, err
	}
	r.Bandwidth, err = strconv.ParseFloat(fields[columnAverage], 64)
	r.Bandwidth *= scale
	return r, err
}
