package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// ParseMatrix parses a connection matrix of htsim (github.com/Broadcom/csg-htsim, directory
// sim/datacenter/connection_matrices): the number of nodes, the flows, and the triggers by which
// flows start when others end. Times are in picoseconds. Both send_done_trigger and
// recv_done_trigger fire when the sender knows that the flow has arrived. Errors contain the name
// of the file and the line.
func ParseMatrix(name string, r io.Reader) (Graph, error) {
	m := matrix{fires: map[int][]int{}, lines: map[int]int{}, triggers: map[int]trigger{},
		counts: map[string]int{}}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		m.line++
		text, _, _ := strings.Cut(lines.Text(), "#")
		if err := m.parse(strings.Fields(text)); err != nil {
			return nil, fmt.Errorf("workload: %s:%d: %w", name, m.line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("workload: %s:%d: %w", name, m.line+1, err)
	}
	graph, err := m.graph()
	if err != nil {
		return nil, fmt.Errorf("workload: %s:%w", name, err)
	}
	return graph, nil
}

// matrix is a connection matrix of which the lines up to line have been read.
type matrix struct {
	line     int
	counts   map[string]int // by the first word of a line: Nodes, Connections, Triggers
	flows    []connection
	lines    map[int]int     // by the ID of a flow, its line
	fires    map[int][]int   // by the ID of a trigger, the flows that activate it
	triggers map[int]trigger // by ID
}

type connection struct {
	Task
	line    int
	trigger int // that starts the flow; 0: it starts at its time
}

type trigger struct{ line, count int }

func (m *matrix) parse(words []string) error {
	switch {
	case len(words) == 0:
		return nil
	case words[0] == "Nodes" || words[0] == "Connections" || words[0] == "Triggers":
		return m.parseCount(words)
	case words[0] == "trigger":
		return m.parseTrigger(words[1:])
	case strings.Contains(words[0], "->"):
		return m.parseConnection(words)
	}
	return fmt.Errorf("%q, want Nodes, Connections, Triggers, a connection such as 1->2, or "+
		"trigger", words[0])
}

func (m *matrix) parseCount(words []string) error {
	if _, twice := m.counts[words[0]]; twice {
		return fmt.Errorf("%s twice", words[0])
	}
	if len(words) != 2 {
		return fmt.Errorf("%s with %d words, want a number", words[0], len(words)-1)
	}
	n, err := number(words[0], words[1])
	m.counts[words[0]] = n
	return err
}

// number parses a value that is not negative.
func number(name, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s %q, want a number of at least 0", name, text)
	}
	return n, nil
}

// parseTrigger parses "id 1 oneshot" or "id 1 barrier count 4".
func (m *matrix) parseTrigger(words []string) error {
	if len(words) < 3 || words[0] != "id" {
		return errors.New("want trigger id NUMBER oneshot, or barrier count NUMBER")
	}
	id, err := number("trigger", words[1])
	if err != nil {
		return err
	}
	if t, twice := m.triggers[id]; twice || id == 0 {
		return fmt.Errorf("trigger %d of line %d again, or 0: want a new number from 1", id, t.line)
	}
	t := trigger{line: m.line, count: 1}
	switch {
	case words[2] == "oneshot" && len(words) == 3:
	case words[2] == "barrier" && len(words) == 5 && words[3] == "count":
		if t.count, err = number("count", words[4]); err != nil {
			return err
		}
	default:
		return fmt.Errorf("trigger %q, want oneshot, or barrier count NUMBER",
			strings.Join(words[2:], " "))
	}
	m.triggers[id] = t
	return nil
}

// parseConnection parses "1->2 id 3 start 0 size 1000 send_done_trigger 4" and the like.
func (m *matrix) parseConnection(words []string) (err error) {
	c := connection{line: m.line, Task: Task{Group: -1}}
	src, dst, _ := strings.Cut(words[0], "->")
	if c.Src, err = number("source", src); err != nil {
		return err
	}
	if c.Dst, err = number("destination", dst); err != nil {
		return err
	}
	if len(words)%2 == 0 {
		return fmt.Errorf("%s has no value", words[len(words)-1])
	}
	started := false
	for i := 1; i < len(words); i += 2 {
		value, err := number(words[i], words[i+1])
		if err != nil {
			return err
		}
		switch words[i] {
		case "id":
			if line, twice := m.lines[value]; twice {
				return fmt.Errorf("flow %d of line %d again", value, line)
			}
			m.lines[value] = m.line
		case "start":
			c.Delay, started = units.Duration(value), true
		case "size":
			c.Bytes = units.Bytes(value)
		case "prio":
		case "trigger":
			c.trigger, started = value, true
		case "send_done_trigger", "recv_done_trigger":
			m.fires[value] = append(m.fires[value], len(m.flows))
		default:
			return fmt.Errorf("%q, want id, start, size, prio, trigger, send_done_trigger or "+
				"recv_done_trigger", words[i])
		}
	}
	if !started {
		return errors.New("a flow with neither start nor trigger")
	}
	nodes, known := m.counts["Nodes"]
	if !known {
		return errors.New("a flow before Nodes")
	}
	f := Flow{Src: c.Src, Dst: c.Dst, Bytes: c.Bytes}
	m.flows = append(m.flows, c)
	return f.check(nodes)
}

// graph returns the flows with their dependencies. An error begins with a line.
func (m *matrix) graph() (Graph, error) {
	if want, known := m.counts["Connections"]; !known || want != len(m.flows) {
		return nil, fmt.Errorf("%d: %d flows, want %d as Connections says", m.line, len(m.flows),
			want)
	}
	if want := m.counts["Triggers"]; want != len(m.triggers) {
		return nil, fmt.Errorf("%d: %d triggers, want %d as Triggers says", m.line,
			len(m.triggers), want)
	}
	g := make(Graph, len(m.flows))
	for i, c := range m.flows {
		g[i] = c.Task
		if c.trigger == 0 {
			continue
		}
		t, known := m.triggers[c.trigger]
		fires := m.fires[c.trigger]
		switch {
		case !known:
			return nil, fmt.Errorf("%d: no trigger has the ID %d", c.line, c.trigger)
		case len(fires) != t.count:
			return nil, fmt.Errorf("%d: %d flows activate trigger %d, want %d", t.line, len(fires),
				c.trigger, t.count)
		}
		g[i].After = fires
	}
	if at := g.Cycle(); at >= 0 {
		return nil, fmt.Errorf("%d: the flow waits for itself through its trigger",
			m.flows[at].line)
	}
	return g, nil
}
