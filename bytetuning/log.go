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

// Header identifies the search of a log. Only the same search can be resumed from it.
type Header struct {
	Version   int       `json:"version"`
	Target    string    `json:"target"`
	Tuner     string    `json:"tuner"`
	Seed      uint64    `json:"seed"`
	Objective Objective `json:"objective"`
	Start     Point     `json:"start"`
}

// LogVersion is the version of the log format.
const LogVersion = 1

// Evaluation is a point with its measurement, or with the reason why it was skipped.
type Evaluation struct {
	Point       Point        `json:"point"`
	Measurement *Measurement `json:"measurement,omitempty"`
	Skipped     string       `json:"skipped,omitempty"`
}

func (e *Evaluation) validate(layers int) error {
	if len(e.Point) != layers {
		return fmt.Errorf("%d layers: want %d", len(e.Point), layers)
	}
	if (e.Measurement == nil) == (e.Skipped == "") {
		return errors.New("want either a measurement or a reason to skip")
	}
	if e.Measurement != nil {
		return e.Measurement.Validate(layers)
	}
	return nil
}

// Log is the history of a search as lines of JSON: a header, then one evaluation per line, written
// as they complete. OpenLog truncates an incomplete last line, which a crash may leave.
type Log struct {
	Header      Header
	Evaluations []Evaluation
	file        *os.File
}

// ParseLog reads a log. valid is the length in bytes of its complete lines.
func ParseLog(r io.Reader) (l *Log, valid int64, err error) {
	l = &Log{}
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, 0, err
		}
		if err == io.EOF {
			if n == 1 && len(line) > 0 {
				return nil, 0, errors.New("bytetuning: log: no header line")
			}
			return l, valid, nil
		}
		if err := l.decodeLine(n, line); err != nil {
			return nil, 0, fmt.Errorf("bytetuning: log: line %d: %w", n, err)
		}
		valid += int64(len(line))
	}
}

func (l *Log) decodeLine(n int, line []byte) error {
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

// OpenLog creates a log file, or reads an existing one, which must be of the same search.
func OpenLog(path string, h Header) (*Log, error) {
	h.Version = LogVersion
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("bytetuning: log: %w", err)
	}
	l, valid, err := ParseLog(f)
	if err == nil && valid > 0 {
		err = same(l.Header, h)
	}
	if err == nil {
		err = f.Truncate(valid)
	}
	if err == nil {
		_, err = f.Seek(valid, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("bytetuning: %s: %w", path, err)
	}
	l.Header, l.file = h, f
	if valid == 0 {
		err = l.write(h)
	}
	return l, err
}

// same returns an error that names the first difference between two headers.
func same(found, want Header) error {
	for _, d := range []struct {
		name string
		a, b any
	}{
		{"target", found.Target, want.Target}, {"tuner", found.Tuner, want.Tuner}, {"seed",
			found.Seed, want.Seed},
		{"objective", parameters(found.Objective), parameters(want.Objective)},
		{"start", found.Start, want.Start},
	} {
		if !reflect.DeepEqual(d.a, d.b) {
			return fmt.Errorf("is the log of another search: its %s is %v, want %v; give another "+
				"--out, or remove it", d.name, d.a, d.b)
		}
	}
	return nil
}

// parameters returns o without its records.
func parameters(o Objective) Objective {
	return Objective{Beta: o.Beta, Fair: o.Fair, Gamma: o.Gamma}
}

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
