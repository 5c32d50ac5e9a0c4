package perftest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goroce/goroce/nicoffload/driver"
	"github.com/goroce/goroce/transport"
)

// validateOffload checks that --offload suits the test.
func (s *Settings) validateOffload(p *problems) {
	nothing := s.Tokens == nil && reflect.DeepEqual(s.Congestion, defaultAlgorithms())
	p.when(s.Offload != driver.Off && nothing,
		"--offload %s: no congestion control to offload; add --cc", s.Offload)
}

// agents returns the number of cores that poll agents.
func (s *Settings) agents() int {
	n := min(len(s.agentCores()), s.Queues)
	if s.inProcess() {
		n *= 2
	}
	return n
}

// OffloadInfo describes the driver that ran congestion control, and its activity at this end.
type OffloadInfo struct {
	Driver    string `json:"driver"`
	Cores     []int  `json:"cores,omitempty"` // of the agents; empty: the polling cores
	Decisions uint64 `json:"decisions"`       // received from the agent
	// times that flows fell back to inline control because the agent was silent
	Silences uint64 `json:"silences"`
	Returns  uint64 `json:"returns"` // times that the fallback ended
}

// offload returns the OffloadInfo, nil if congestion control ran inline.
func (x *session) offload() *OffloadInfo {
	s := x.settings
	if s.Offload == driver.Off {
		return nil
	}
	info := &OffloadInfo{Driver: s.Offload, Cores: s.agentCores()}
	for _, l := range x.queueSets {
		_ = l.do(func(*transport.Endpoint) error {
			c := l.host.Offload(l.index).Controller.Counters()
			info.Decisions += c.Results
			info.Silences += c.Silences
			info.Returns += c.Returns
			return nil
		})
	}
	return info
}

func (o *OffloadInfo) String() string {
	where := "the polling core"
	if len(o.Cores) > 0 {
		where = "CPU " + strings.Trim(fmt.Sprint(o.Cores), "[]")
	}
	text := fmt.Sprintf("offload %s: %d decisions by %s", o.Driver, o.Decisions, where)
	if o.Silences > 0 {
		text += fmt.Sprintf("; %d fallbacks to inline control, %d returns", o.Silences,
			o.Returns)
	}
	return text
}
