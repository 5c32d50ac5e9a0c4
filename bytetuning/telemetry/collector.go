package telemetry

import (
	"fmt"
	"math"
	"slices"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

// Aggregate is what becomes of many samples before they are handed on (section 5.4).
type Aggregate string

// The aggregations of the paper, and the mean.
const (
	Min  Aggregate = "min"
	Max  Aggregate = "max"
	Sum  Aggregate = "sum"
	P99  Aggregate = "p99"
	Mean Aggregate = "mean"
)

// ParseAggregate reads the name of one.
func ParseAggregate(name string) (Aggregate, error) {
	a := Aggregate(name)
	if !slices.Contains([]Aggregate{Min, Max, Sum, P99, Mean}, a) {
		return "", fmt.Errorf("telemetry: no aggregation %q; there are min, max, sum, p99, mean",
			name)
	}
	return a, nil
}

// Of answers it for samples; NaN when there are none, or when one is no number.
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

// Collector gathers what one source tells of one port in a period.
type Collector struct {
	Source
	Queue Aggregate // of the queue's lengths
	// MaxAge, unless 0, is how old the newest sample may be at the end of the period.
	MaxAge units.Duration

	passed  float64 // packets since the last report
	reports int
	bytes   float64 // of reported packets
	queues  []float64
	newest  units.Time
	first   poll
	last    poll
	polled  bool
}

// poll is a counter at a time.
type poll struct {
	at    units.Time
	bytes uint64
}

// Packet tells an in-band source of a packet that passed, and of the queue that it found. Every
// 1/Sampling-th reports.
func (c *Collector) Packet(now units.Time, size, queue units.Bytes) {
	if c.passed += c.Sampling; c.passed < 1 {
		return
	}
	c.passed--
	c.reports++
	c.bytes += float64(size)
	c.queues = append(c.queues, float64(queue))
	c.newest = now
}

// Poll tells an out-of-band source what a port's counter of bytes says, and how long the queue is.
func (c *Collector) Poll(now units.Time, bytes uint64, queue units.Bytes) {
	if !c.polled {
		c.first, c.polled = poll{now, bytes}, true
	} else {
		c.queues = append(c.queues, float64(queue))
	}
	c.last, c.newest = poll{now, bytes}, now
}

// Reports is how many there were.
func (c *Collector) Reports() int { return c.reports }

// Sample answers the port's throughput and queue in a period that ends now, as a switch of a layer.
// Too little or too old telemetry, and a counter that ran backwards, are errors.
func (c *Collector) Sample(layer int, now units.Time, period units.Duration) (bytetuning.Sample,
	error) {
	if len(c.queues) == 0 {
		return bytetuning.Sample{}, fmt.Errorf("telemetry: %s told nothing in %v: %w", c.Name,
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
				fmt.Errorf("telemetry: %s: the counter went from %d to %d in %v: %w",
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
