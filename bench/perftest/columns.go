package perftest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// column is an entry of perftest's header and of test_info in the JSON document.
type column struct {
	flag     string // declares name and key, unless empty
	name     string // in the header; empty: not there
	key      string // in test_info; empty: not there
	value    any    // nil: the flag's
	unit     string // in the header
	right    bool   // continues the header's line
	jsonOnly bool
}

// columns returns the entries in perftest's order.
func (x *session) columns() []column {
	s, lat := x.settings, x.settings.Test.Kind == Latency
	client, server := !x.server || s.Bidirectional, x.server || s.Bidirectional
	columns := []column{
		{key: "test", value: s.title()},
		{name: "Dual-port", key: "Dual_port", value: "OFF"},
		{flag: "ib-dev", right: true},
		{flag: "qp"},
		{name: "Transport type", key: "Transport_type", value: "IB", right: true},
		{flag: "connection", value: s.Connection.String()},
		{flag: "use-srq", value: onOff(s.SharedReceive), right: true},
		{name: "PCIe relax order", key: "PCIe_relax_order", value: "OFF"},
		{name: "Lock-free", value: "OFF", right: true},
		{name: "ibv_wr* API", key: "ibv_wr_API", value: "OFF"},
		{name: "Using Enhanced Reorder      ", value: "OFF", right: true},
		{flag: "tx-depth", jsonOnly: !client},
		{flag: "rx-depth", jsonOnly: !server || s.Test.Verb != Send},
		{flag: "post_list", jsonOnly: s.PostList == 1},
		{flag: "cq-mod", value: s.cqMod(s.Size), jsonOnly: lat},
		{name: "CQE Poll Batch", value: "Dynamic", jsonOnly: lat},
		{flag: "mtu", value: x.mtu, unit: "[B]"},
		{name: "Link type", key: "Link_type", value: "Ethernet"},
		{flag: "gid-index", value: s.gidIndex()},
	}
	if s.Test.isOneSided() {
		columns = append(columns, column{flag: "outs"})
	} else {
		columns = append(columns, column{flag: "inline_size", unit: "[B]"})
	}
	columns = append(columns,
		column{flag: "rdma_cm", value: s.cmQPs()},
		column{name: "Data ex. method", key: "Data_ex_method", value: s.dataExchange()},
		column{flag: "tclass"},
		// goroce's own
		column{key: "role", value: x.role()},
		column{flag: "bidirectional"},
		column{flag: "duration", value: s.Duration.Seconds()},
		column{flag: "report_gbits", value: s.unitName()})
	return s.named(columns)
}

// named completes the columns of flags.
func (s *Settings) named(columns []column) []column {
	table := s.table(&extras{})
	for i := range columns {
		c := &columns[i]
		if c.flag == "" {
			continue
		}
		f := table.Flag(c.flag)
		c.name, c.key = f.Column, f.JSON
		if c.value == nil {
			c.value = f.Get()
		}
	}
	return columns
}

// role returns the part of this end in the test.
func (x *session) role() string {
	switch {
	case x.settings.inProcess():
		return "both"
	case x.server:
		return "server"
	}
	return "client"
}

// printed formats columns as perftest does: names are padded, except those that end with a space.
func printed(columns []column) string {
	var b strings.Builder
	for _, c := range columns {
		if c.name == "" || c.jsonOnly {
			continue
		}
		before, width := "\n ", 16
		if c.right {
			before, width = "\t\t", 15
		}
		if strings.HasSuffix(c.name, " ") {
			width = 0
		}
		fmt.Fprintf(&b, "%s%-*s: %v%s", before, width, c.name, c.value, c.unit)
	}
	return b.String()[1:] + "\n"
}

// TestInfo is the header with perftest's names, in perftest's order.
type TestInfo []column

// MarshalJSON implements json.Marshaler.
func (t TestInfo) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	for _, c := range t {
		if c.key == "" {
			continue
		}
		value, err := json.Marshal(c.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.key, err)
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "%q:%s", c.key, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
