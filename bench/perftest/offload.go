package perftest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goroce/goroce/nicoffload/driver"
	"github.com/goroce/goroce/transport"
)

// validateOffload says what cannot be offloaded.
func (s *Settings) validateOffload(p *problems) {
	_, err := driver.Find(s.Offload)
	p.when(err != nil, "--offload %s: %w", s.Offload, err)
	nothing := s.Tokens == nil && reflect.DeepEqual(s.Congestion, defaultAlgorithms())
	p.when(s.Offload != driver.Off && nothing,
		"--offload %s: there is no congestion control to offload; give --cc", s.Offload)
}

// agents is how many cores poll agents.
func (s *Settings) agents() int {
	n := min(len(s.agentCores()), s.Queues)
	if s.inProcess() {
		n *= 2
	}
	return n
}

// OffloadInfo is what congestion control ran behind, and what came of that at this end.
type OffloadInfo struct {
	Driver    string `json:"driver"`
	Cores     []int  `json:"cores,omitempty"` // of what decides; none: the polling ones
	Decisions uint64 `json:"decisions"`       // that came
	// times that flows were controlled in line, for none came
	Silences uint64 `json:"silences"`
	Returns  uint64 `json:"returns"` // times that this ended
}

// offload answers it, nil when congestion control ran in line.
func (x *session) offload() *OffloadInfo {
	s := x.settings
	if s.Offload == driver.Off {
		return nil
	}
	info := &OffloadInfo{Driver: s.Offload, Cores: s.agentCores()}
	for _, l := range x.lanes {
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
		text += fmt.Sprintf("; in line %d times, for none came, and %d times back", o.Silences,
			o.Returns)
	}
	return text
}
