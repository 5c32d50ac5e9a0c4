package intent

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

// spaceFile is the YAML form of a search space: the values of each axis.
type spaceFile struct {
	Kmin     []string `yaml:"kmin,flow"`
	Gap      []string `yaml:"gap,flow"` // from Kmin to Kmax
	Pmax     []string `yaml:"pmax,flow"`
	Headroom []string `yaml:"headroom,flow"`
	Alpha    []string `yaml:"alpha,flow"`
}

// ParseSpace reads where a tuner may search:
//
//	kmin: [0B, 64KiB, 128KiB]
//	gap: [64KiB, 256KiB]         # Kmax is Kmin and one of these
//	pmax: [1%, 10%, 50%]
//	headroom: [100KiB]
//	alpha: [1/32, 1/16, 1/8]
//
// Values rise, and are such as a switch can have; see [bytetuning.Space.Validate].
func ParseSpace(text []byte) (bytetuning.Space, error) {
	var s bytetuning.Space
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var f spaceFile
	if err := d.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return s, fmt.Errorf("intent: space: %w", err)
	}
	err := errors.Join(
		each("kmin", f.Kmin, units.ParseBytes, &s.Kmin), each("gap", f.Gap, units.ParseBytes,
			&s.Gap),
		each("pmax", f.Pmax, bytetuning.ParsePercent, &s.Pmax),
		each("headroom", f.Headroom, units.ParseBytes, &s.Headroom), each("alpha", f.Alpha,
			bytetuning.ParseAlpha, &s.Alpha),
	)
	if err == nil {
		err = s.Validate()
	}
	if err != nil {
		return bytetuning.Space{}, fmt.Errorf("intent: space: %w", err)
	}
	return s, nil
}

func each[T any](key string, texts []string, parse func(string) (T, error), into *[]T) error {
	for _, text := range texts {
		v, err := parse(text)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		*into = append(*into, v)
	}
	return nil
}
