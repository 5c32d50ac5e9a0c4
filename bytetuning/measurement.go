package bytetuning

import (
	"errors"
	"fmt"
	"math"

	"github.com/goroce/goroce/units"
)

// Sample is the throughput and queue of one switch, or one flow, during a measurement.
type Sample struct {
	Layer      int           `json:"layer,omitempty"` // of a switch
	Throughput units.BitRate `json:"throughput"`      // T
	Queue      units.Bytes   `json:"queue"`           // Q, which stands for latency (section 5.4)
}

// SampleOf returns a Sample of telemetry values in bit/s and bytes. Values that are negative, NaN
// or out of range are an error.
func SampleOf(layer int, throughput, queue float64) (Sample, error) {
	for _, v := range []float64{throughput, queue} {
		if math.IsNaN(v) || v < 0 || v > math.MaxInt64/2 {
			return Sample{}, fmt.Errorf("bytetuning: telemetry of %v bit/s, %v bytes: %w",
				throughput, queue, ErrTelemetry)
		}
	}
	return Sample{layer, units.BitRate(throughput), units.Bytes(queue)}, nil
}

// Measurement is the state of the network under one point.
type Measurement struct {
	Switches []Sample `json:"switches"`
	Flows    []Sample `json:"flows,omitempty"`
	Lost     uint64   `json:"lost,omitempty"` // packets; 0 if the target does not count them
}

// ErrTelemetry reports an unusable measurement: empty, stale, or not a number.
var ErrTelemetry = errors.New("unusable telemetry")

// Validate returns an error unless m has samples of switches, all of them in range.
func (m *Measurement) Validate(layers int) error {
	if m == nil || len(m.Switches) == 0 {
		return fmt.Errorf("bytetuning: the target returned no switch samples: %w", ErrTelemetry)
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

// Throughput returns the sum over switches.
func (m *Measurement) Throughput() (sum units.BitRate) {
	for _, s := range m.Switches {
		sum += s.Throughput
	}
	return sum
}

// Queue returns the sum over switches.
func (m *Measurement) Queue() (sum units.Bytes) {
	for _, s := range m.Switches {
		sum += s.Queue
	}
	return sum
}
