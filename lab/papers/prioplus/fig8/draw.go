package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// draw writes the throughput of each priority, and the queue, over time.
func (s *settings) draw(sc *scenario) (files []string, err error) {
	name := strings.ReplaceAll(strings.ToLower(sc.Name), " ", "-")
	throughput := figure.Lines("fig8-"+name, "Throughput of each priority, "+sc.Name, "time (s)",
		"goodput (Gb/s)")
	queue := figure.Lines("fig8-"+name+"-queue", "Longest queue of the bottleneck, "+sc.Name,
		"time (s)", "queue (us on the link)")
	var x []float64
	for b := range sc.Queue {
		x = append(x, (units.Duration(b) * sc.Bin).Seconds())
	}
	for _, g := range sc.Groups {
		y := make([]float64, len(g.Bytes))
		for b, bytes := range g.Bytes {
			y[b] = bytes * 8 / sc.Bin.Seconds() / 1e9
		}
		throughput.Add(fmt.Sprintf("priority %d", g.Priority), x, y)
	}
	queue.Add("queue", x, sc.Queue)
	for _, p := range []*figure.Plot{throughput, queue} {
		file, data, err := p.Encode()
		if err != nil {
			return nil, err
		}
		file = filepath.Join(s.Out, file)
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
