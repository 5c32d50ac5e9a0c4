package telemetry

import (
	"fmt"
	"math"
	"slices"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

// Aggregate is the function that reduces many samples to one (section 5.4).
type Aggregate string

// The aggregations of the paper, and the mean.
const (
	Min  Aggregate = "min"
	Max  Aggregate = "max"
	Sum  Aggregate = "sum"
	P99  Aggregate = "p99"
	Mean Aggregate = "mean"
)

// ParseAggregate returns the aggregation of a name.
func ParseAggregate(name string) (Aggregate, error) {
	a := Aggregate(name)
	if !slices.Contains([]Aggregate{Min, Max, Sum, P99, Mean}, a) {
		return "", fmt.Errorf("telemetry: unknown aggregation %q; want one of min, max, sum, "+
			"p99, mean", name)
	}
	return a, nil
}

// Of returns the aggregate of samples, or NaN if there are none or one of them is NaN.
func (a Aggregate) Of(samples []float64) float64 {
	if len(samples) == 0 {
		return math.NaN()
	}
	var sum float64
	for _, s := range samples {
		sum += s // NaN if one is
	}
	switch {
	case math.IsNaN(sum):
		return sum
	case a == Min:
		return slices.Min(samples)
	case a == Max:
		return slices.Max(samples)
	case a == Sum:
		return sum
	case a == P99:
		sorted := slices.Sorted(slices.Values(samples))
		return sorted[int(math.Ceil(0.99*float64(len(sorted))))-1]
	}
	return sum / float64(len(samples))
}

// Collector gathers the telemetry of one port from one source during a period.
type Collector struct {
	Source
	Queue Aggregate // of the samples of the queue length; "" means Mean
	// MaxAge, unless 0, is the maximum age of the newest sample at the end of the period.
	MaxAge units.Duration

	credit  float64 // grows by Sampling per packet; at 1 a packet reports
	reports int
	bytes   float64 // of reported packets
	queues  []float64
	newest  units.Time
	first   reading
	last    reading
	polled  bool
}

// reading is the value of a byte counter at a time.
type reading struct {
	at    units.Time
	bytes uint64
}

// Packet records for an in-band source that a packet passed and the queue length at its arrival.
// Every 1/Sampling-th packet reports.
func (c *Collector) Packet(now units.Time, size, queue units.Bytes) {
	if c.credit += c.Sampling; c.credit < 1 {
		return
	}
	c.credit--
	c.reports++
	c.bytes += float64(size)
	c.queues = append(c.queues, float64(queue))
	c.newest = now
}

// Poll records for an out-of-band source a port's byte counter and queue length.
func (c *Collector) Poll(now units.Time, bytes uint64, queue units.Bytes) {
	if !c.polled {
		c.first, c.polled = reading{now, bytes}, true
	} else {
		c.queues = append(c.queues, float64(queue))
	}
	c.last, c.newest = reading{now, bytes}, now
}

// Reports returns the number of packets that reported.
func (c *Collector) Reports() int { return c.reports }

// Sample returns the port's throughput and queue in a period that ends now, as a sample of a switch
// of a layer. Missing or stale telemetry and a decreasing counter are errors.
func (c *Collector) Sample(layer int, now units.Time, period units.Duration) (bytetuning.Sample,
	error) {
	if len(c.queues) == 0 {
		return bytetuning.Sample{}, fmt.Errorf("telemetry: %s: no samples in %v: %w", c.Name,
			period, bytetuning.ErrTelemetry)
	}
	if age := now.Sub(c.newest); c.MaxAge > 0 && age > c.MaxAge {
		return bytetuning.Sample{}, fmt.Errorf("telemetry: %s is stale, %v old: %w", c.Name, age,
			bytetuning.ErrTelemetry)
	}
	var throughput float64
	if c.InBand() {
		reports := float64(c.reports) / period.Seconds()
		throughput = float64(bytetuning.InferredThroughput(reports,
			units.Bytes(c.bytes/float64(c.reports)), c.Sampling))
	} else {
		span := c.last.at.Sub(c.first.at)
		if c.last.bytes < c.first.bytes || span <= 0 {
			return bytetuning.Sample{},
				fmt.Errorf("telemetry: %s: byte counter went from %d to %d in %v: %w",
					c.Name, c.first.bytes, c.last.bytes, span, bytetuning.ErrTelemetry)
		}
		throughput = 8 * float64(c.last.bytes-c.first.bytes) / span.Seconds()
	}
	a := c.Queue
	if a == "" {
		a = Mean
	}
	return bytetuning.SampleOf(layer, throughput, a.Of(c.queues))
}
