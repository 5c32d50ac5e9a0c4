package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/goroce/goroce/units"
)

// List is traffic as a list of flows, in any order.
type List []Flow

// Source returns the flows in order of time, and those of one time in the order of the list. Their
// IDs count from 0.
func (l List) Source() (Source, error) {
	sorted := slices.Clone(l)
	slices.SortStableFunc(sorted, func(a, b Flow) int {
		switch {
		case a.At.Before(b.At):
			return -1
		case b.At.Before(a.At):
			return 1
		}
		return 0
	})
	for i := range sorted {
		sorted[i].ID = uint64(i)
	}
	return &listed{sorted}, nil
}

type listed struct{ left []Flow }

// Next implements Source.
func (l *listed) Next() (Flow, bool) {
	if len(l.left) == 0 {
		return Flow{}, false
	}
	f := l.left[0]
	l.left = l.left[1:]
	return f, true
}

// ParseList parses a table of flows between a number of hosts as CSV. Its first line names the
// columns, in any order: time, src, dst and bytes, and optionally group and class. A time has a
// unit (units.ParseDuration), a size may have one (units.ParseBytes), and a host is its index. A
// line that begins with # is a comment. Errors contain the name of the file and the line.
func ParseList(name string, r io.Reader, hosts int) (List, error) {
	table := csv.NewReader(r)
	table.Comment, table.TrimLeadingSpace, table.ReuseRecord = '#', true, true
	header, err := table.Read()
	if err != nil {
		return nil, fmt.Errorf("workload: %s: header: %w", name, noEOF(err))
	}
	columns, err := parseHeader(header)
	if err != nil {
		return nil, fmt.Errorf("workload: %s:1: %w", name, err)
	}
	var list List
	for {
		record, err := table.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("workload: %s: %w", name, err) // contains the line
		}
		f := Flow{ID: uint64(len(list)), Group: -1}
		if err := columns.parse(record, hosts, &f); err != nil {
			line, _ := table.FieldPos(0)
			return nil, fmt.Errorf("workload: %s:%d: %w", name, line, err)
		}
		list = append(list, f)
	}
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("empty file, want a line that names the columns")
	}
	return err
}

// columns is the index of every column of a table of flows, -1 if it is absent.
type columns map[string]int

func parseHeader(header []string) (columns, error) {
	c := columns{"time": -1, "src": -1, "dst": -1, "bytes": -1, "group": -1, "class": -1}
	for i, name := range header {
		at, known := c[name]
		switch {
		case !known:
			return nil, fmt.Errorf("column %q, want time, src, dst, bytes, group or class", name)
		case at >= 0:
			return nil, fmt.Errorf("column %s twice", name)
		}
		c[name] = i
	}
	for _, name := range []string{"time", "src", "dst", "bytes"} {
		if c[name] < 0 {
			return nil, fmt.Errorf("no column %s", name)
		}
	}
	return c, nil
}

func (c columns) parse(record []string, hosts int, f *Flow) error {
	at, err := units.ParseDuration(record[c["time"]])
	if err != nil {
		return err
	}
	if at < 0 {
		return fmt.Errorf("time %v is negative", at)
	}
	f.At = units.Time(at)
	if f.Bytes, err = units.ParseBytes(record[c["bytes"]]); err != nil {
		return err
	}
	for name, to := range map[string]*int{"src": &f.Src, "dst": &f.Dst, "group": &f.Group,
		"class": &f.Class} {
		if c[name] < 0 {
			continue
		}
		if *to, err = strconv.Atoi(record[c[name]]); err != nil {
			return fmt.Errorf("%s %q is not a number", name, record[c[name]])
		}
	}
	return f.check(hosts)
}

// check returns an error unless the flow is between two of so many hosts and of a possible size.
func (f *Flow) check(hosts int) error {
	for _, h := range [2]int{f.Src, f.Dst} {
		if h < 0 || h >= hosts {
			return fmt.Errorf("host %d out of range [0, %d)", h, hosts)
		}
	}
	switch {
	case f.Src == f.Dst:
		return fmt.Errorf("flow from host %d to itself", f.Src)
	case f.Bytes < 1 || f.Bytes > MaxFlow:
		return fmt.Errorf("size of %d bytes out of range [1, %d]", int64(f.Bytes), int64(MaxFlow))
	case f.Group < -1:
		return fmt.Errorf("group %d, want at least 0, or -1 for none", f.Group)
	case f.Class < 0:
		return fmt.Errorf("class %d is negative", f.Class)
	}
	return nil
}
