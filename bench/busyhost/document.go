package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// document is the part of perftest's JSON document used here.
type document struct {
	Results []struct {
		Size        int      `json:"MsgSize"`
		Average     *float64 `json:"BW_average"` // MiB/s
		MsgRate     *float64 `json:"MsgRate"`    // millions/s
		Percentiles struct {
			P50 float64 `json:"p50"` // µs
		} `json:"percentiles"`
		PerQP []struct {
			Iterations float64 `json:"n_iterations"`
			Average    float64 `json:"BW_average"`
		} `json:"per_qp"` // in the order of the queue pairs' numbers
	} `json:"results"`
}

// read reads the document of a run with one message size.
func read(file string) (*document, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("no JSON document: %w", err)
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("JSON document: %w", err)
	}
	if n := len(d.Results); n != 1 {
		return nil, fmt.Errorf("JSON document: results of %d message sizes, want 1", n)
	}
	return &d, nil
}

// figure is the value that a trial takes from the document of a run.
type figure struct {
	unit   string
	format string // of a value
	take   func(*document) (float64, error)
}

var errNoBandwidth = errors.New("JSON document: no bandwidth")

// The figures.
var (
	goodput = figure{"MiB/s", "%.0f", func(d *document) (float64, error) {
		if d.Results[0].Average == nil {
			return 0, errNoBandwidth
		}
		return *d.Results[0].Average, nil
	}}
	messages = figure{"M/s", "%.3g", func(d *document) (float64, error) {
		if d.Results[0].MsgRate == nil {
			return 0, errNoBandwidth
		}
		return *d.Results[0].MsgRate, nil
	}}
	// latency is half the round-trip time of a SEND or a WRITE, as in perftest.
	latency = figure{"µs", "%.2f", func(d *document) (float64, error) {
		if d.Results[0].Percentiles.P50 <= 0 {
			return 0, errors.New("JSON document: no p50")
		}
		return d.Results[0].Percentiles.P50, nil
	}}
	// firstShare is the first queue pair's share of all messages.
	firstShare = figure{"", "%.3f", func(d *document) (float64, error) {
		qps := d.Results[0].PerQP
		if len(qps) != 2 {
			return 0, fmt.Errorf("JSON document: %d queue pairs, want 2", len(qps))
		}
		sum := qps[0].Iterations + qps[1].Iterations
		if sum == 0 {
			return 0, errors.New("JSON document: neither queue pair completed a message")
		}
		return qps[0].Iterations / sum, nil
	}}
	// ended is for runs that only have to end; the duration replaces the value.
	ended = figure{"s", "%.1f", func(*document) (float64, error) { return 0, nil }}
)
