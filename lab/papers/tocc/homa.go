package tocc

import (
	"fmt"
	"strings"

	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// Homa's priorities: eight for data, divided between scheduled and unscheduled packets as its
// authors do for the workload; and one above them for grants and ACKs.

const (
	// homaControl is the DSCP of grants and ACKs, and homaQueue their queue.
	homaControl = 57
	homaQueue   = 8
	// homaReordering is how much later a packet may arrive than one of a higher priority.
	homaReordering = 10 * units.Millisecond
)

// homaScheduled is the number of priorities of scheduled packets, and of messages that a receiver
// grants at once (HomaSimulation, homaTransportConfig.ini).
var homaScheduled = map[string]int{memcached: 1, webServer: 6, cacheFollower: 7, webSearch: 7}

// homaClassify returns a queue's number from DSCP.
func homaClassify() (queues [64]uint8) {
	for dscp := range queues {
		queues[dscp] = uint8(dscp / 8)
	}
	queues[homaControl] = homaQueue
	return queues
}

// homaSettings returns Homa's for a workload: unscheduled bytes are divided evenly among their
// priorities.
func homaSettings(sizes *workload.Sizes, unscheduled units.Bytes, of, levels int) string {
	settings := fmt.Sprintf("overcommit=%d,token_dscp=%d", of, homaControl)
	bounds := parted(sizes, unscheduled, levels-of)
	if len(bounds) == 0 {
		return settings
	}
	texts := make([]string, len(bounds))
	for i, b := range bounds {
		texts[i] = fmt.Sprintf("%dB", int64(b))
	}
	return settings + ",cutoffs=" + strings.Join(texts, "/")
}

// parted returns the sizes that divide flows into n groups of equal bytes, counting at most most of
// a flow: the largest size of each but the last. If a single size exceeds a group, there are fewer.
func parted(sizes *workload.Sizes, most units.Bytes, n int) (bounds []units.Bytes) {
	const steps = 100_000
	size := func(i int) units.Bytes { return max(1, sizes.Quantile((float64(i)+0.5)/steps)) }
	total := 0.0
	for i := range steps {
		total += float64(min(size(i), most))
	}
	sum := 0.0
	for i := range steps {
		s := size(i)
		if sum += float64(min(s, most)); sum >= total*float64(len(bounds)+1)/float64(n) &&
			len(bounds) < n-1 {
			if len(bounds) == 0 || s > bounds[len(bounds)-1] {
				bounds = append(bounds, s)
			}
		}
	}
	return bounds
}
