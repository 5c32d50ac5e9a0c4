package bytetuning

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
)

// Header says what search a log is of. Only the same search can go on from it.
type Header struct {
	Version   int       `json:"version"`
	Target    string    `json:"target"`
	Tuner     string    `json:"tuner"`
	Seed      uint64    `json:"seed"`
	Objective Objective `json:"objective"`
	Start     Point     `json:"start"`
}

// LogVersion is that of the format.
const LogVersion = 1

// Evaluation is one point and what it measured, or why it was skipped.
type Evaluation struct {
	Point       Point        `json:"point"`
	Measurement *Measurement `json:"measurement,omitempty"`
	Skipped     string       `json:"skipped,omitempty"`
}

func (e *Evaluation) validate(layers int) error {
	if len(e.Point) != layers {
		return fmt.Errorf("%d layers in place of %d", len(e.Point), layers)
	}
	if (e.Measurement == nil) == (e.Skipped == "") {
		return errors.New("neither or both of a measurement and a reason to skip")
	}
	if e.Measurement != nil {
		return e.Measurement.Validate(layers)
	}
	return nil
}

// Log is a search so far, as lines of JSON: a header, then an evaluation a line, written as they
// come. A line that was torn by a crash is cut off.
type Log struct {
	Header      Header
	Evaluations []Evaluation
	file        *os.File
}

// ParseLog reads a log. whole is how many of its bytes are lines that were written to the end.
func ParseLog(r io.Reader) (l *Log, whole int64, err error) {
	l = &Log{}
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, 0, err
		}
		if err == io.EOF {
			if n == 1 && len(line) > 0 {
				return nil, 0, errors.New("bytetuning: log: no header")
			}
			return l, whole, nil
		}
		if err := l.line(n, line); err != nil {
			return nil, 0, fmt.Errorf("bytetuning: log: line %d: %w", n, err)
		}
		whole += int64(len(line))
	}
}

func (l *Log) line(n int, line []byte) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if n == 1 {
		if err := d.Decode(&l.Header); err != nil {
			return err
		}
		if l.Header.Version != LogVersion {
			return fmt.Errorf("version %d: want %d", l.Header.Version, LogVersion)
		}
		return l.Header.Objective.Validate()
	}
	var e Evaluation
	if err := d.Decode(&e); err != nil {
		return err
	}
	if err := e.validate(len(l.Header.Start)); err != nil {
		return err
	}
	l.Evaluations = append(l.Evaluations, e)
	return nil
}

// OpenLog begins a log in a file, or reads the one that is there, which has to be of the same
// search.
func OpenLog(path string, h Header) (*Log, error) {
	h.Version = LogVersion
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("bytetuning: log: %w", err)
	}
	l, whole, err := ParseLog(f)
	if err == nil && whole > 0 {
		err = same(l.Header, h)
	}
	if err == nil {
		err = f.Truncate(whole)
	}
	if err == nil {
		_, err = f.Seek(whole, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("bytetuning: %s: %w", path, err)
	}
	l.Header, l.file = h, f
	if whole == 0 {
		err = l.write(h)
	}
	return l, err
}

// same says in what two searches differ.
func same(there, wanted Header) error {
	for _, d := range []struct {
		name string
		a, b any
	}{
		{"target", there.Target, wanted.Target}, {"tuner", there.Tuner, wanted.Tuner}, {"seed",
			there.Seed, wanted.Seed},
		{"objective", public(there.Objective), public(wanted.Objective)}, {"start", there.Start,
			wanted.Start},
	} {
		if !reflect.DeepEqual(d.a, d.b) {
			return fmt.Errorf("is the log of another search: its %s is %v, not %v; give another "+
				"--out, or remove it", d.name, d.a, d.b)
		}
	}
	return nil
}

func public(o Objective) Objective { return Objective{Beta: o.Beta, Fair: o.Fair, Gamma: o.Gamma} }

// append adds an evaluation, to the file as well.
func (l *Log) append(e Evaluation) error {
	l.Evaluations = append(l.Evaluations, e)
	return l.write(e)
}

func (l *Log) write(v any) error {
	if l.file == nil {
		return nil
	}
	line, err := json.Marshal(v)
	if err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("bytetuning: log: %w", err)
	}
	return nil
}

// Close closes the file.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
