package bytetuning

import (
	"errors"
	"fmt"
	"math"

	"github.com/goroce/goroce/units"
)

// Sample is what one switch, or one flow, did while it was measured.
type Sample struct {
	Layer      int           `json:"layer,omitempty"` // of a switch
	Throughput units.BitRate `json:"throughput"`      // T
	Queue      units.Bytes   `json:"queue"`           // Q, which stands for latency (section 5.4)
}

// SampleOf makes one of numbers that telemetry gave: bit/s and bytes. What is no number is an
// error.
func SampleOf(layer int, throughput, queue float64) (Sample, error) {
	for _, v := range []float64{throughput, queue} {
		if math.IsNaN(v) || v < 0 || v > math.MaxInt64/2 {
			return Sample{}, fmt.Errorf("bytetuning: telemetry of %v b/s, %v bytes: %w", throughput,
				queue, ErrTelemetry)
		}
	}
	return Sample{layer, units.BitRate(throughput), units.Bytes(queue)}, nil
}

// Measurement is what a point made of the network.
type Measurement struct {
	Switches []Sample `json:"switches"`
	Flows    []Sample `json:"flows,omitempty"`
	Lost     uint64   `json:"lost,omitempty"` // packets, if the target knows
}

// ErrTelemetry is a measurement that says nothing: empty, stale, or no number.
var ErrTelemetry = errors.New("unusable telemetry")

// Validate says what is missing.
func (m *Measurement) Validate(layers int) error {
	if m == nil || len(m.Switches) == 0 {
		return fmt.Errorf("bytetuning: the target answered nothing of any switch: %w", ErrTelemetry)
	}
	for i, s := range m.Switches {
		if s.Layer < 0 || s.Layer >= layers || s.Throughput < 0 || s.Queue < 0 {
			return fmt.Errorf("bytetuning: switch %d: %v, %v in layer %d of %d: %w", i,
				s.Throughput, s.Queue, s.Layer, layers, ErrTelemetry)
		}
	}
	for i, s := range m.Flows {
		if s.Throughput < 0 || s.Queue < 0 {
			return fmt.Errorf("bytetuning: flow %d: %v, %v: %w", i, s.Throughput, s.Queue,
				ErrTelemetry)
		}
	}
	return nil
}

// Throughput is the sum over switches.
func (m *Measurement) Throughput() (sum units.BitRate) {
	for _, s := range m.Switches {
		sum += s.Throughput
	}
	return sum
}

// Queue is the sum over switches.
func (m *Measurement) Queue() (sum units.Bytes) {
	for _, s := range m.Switches {
		sum += s.Queue
	}
	return sum
}
