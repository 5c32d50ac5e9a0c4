package metrics

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goroce/goroce"
)

// Options configure a Collector.
type Options struct {
	// QueuePairs is how many queue pairs of an endpoint have series of their own: those with the
	// most bytes. The others are summed as queue pair "other". 0 means 20, negative none.
	QueuePairs int
}

const defaultQueuePairs = 20

// Collector is a prometheus.Collector of hosts. Its methods are safe for concurrent use.
type Collector struct {
	options Options

	mu    sync.Mutex
	hosts []*host
}

// NewCollector returns a Collector without hosts.
func NewCollector(o Options) *Collector {
	if o.QueuePairs == 0 {
		o.QueuePairs = defaultQueuePairs
	}
	o.QueuePairs = max(o.QueuePairs, 0)
	return &Collector{options: o}
}

// Add adds a host, until it is closed. Its label is the name of its port; a second host with the
// same name gets #2, and so on.
func (c *Collector) Add(h *goroce.Host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hosts = append(c.hosts, newHost(h, c.freeName(h.Info(0).Name), c.options.QueuePairs))
}

// Remove removes a host.
func (c *Collector) Remove(h *goroce.Host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hosts = slices.DeleteFunc(c.hosts, func(one *host) bool { return one.Host == h })
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range families {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector. Hosts that have been closed are left out.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	for _, h := range c.sample() {
		h.write(writer{to: to})
	}
}

// sample returns what all hosts do now.
func (c *Collector) sample() (all []*hostSample) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.hosts {
		if s, err := h.sample(); err == nil {
			all = append(all, s)
		}
	}
	return all
}

// list returns the hosts.
func (c *Collector) list() []*host {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.hosts)
}
