package perftest

import (
	"encoding/binary"
	"math"

	"github.com/goroce/goroce/units"
)

// Report is what a side measured in a bandwidth test. Its numbers are what perftest prints.
type Report struct {
	Size       units.Bytes // of a message
	Iterations uint64      // of all queue pairs together
	Peak       float64     // MiB/s; with --report_gbits, on both sides, Gbit/s
	Average    float64     // likewise
	MsgRate    float64     // millions of messages a second
}

// reportParts are the messages that a Report is sent in, 8 bytes each.
var reportParts = [...]string{"size", "iterations", "peak bandwidth", "average bandwidth",
	"message rate"}

// reportLen is the length of a Report on the wire, bytes.
const reportLen = 8 * len(reportParts)

// Encode makes the five messages that carry r, one after the other.
func (r Report) Encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(r.Size))
	b = binary.BigEndian.AppendUint64(b, r.Iterations)
	for _, f := range [...]float64{r.Peak, r.Average, r.MsgRate} {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

// DecodeReport reads the five messages of a Report, all reportLen bytes. Any such bytes are a
// Report: a perftest that measured nothing sends what lay on its stack.
func DecodeReport(b []byte) (Report, error) {
	if len(b) != reportLen {
		return Report{}, malformed("%d bytes, not the %d of a report", len(b), reportLen)
	}
	word := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	float := func(i int) float64 { return math.Float64frombits(word(i)) }
	return Report{Size: units.Bytes(word(0)), Iterations: word(1), Peak: float(2),
		Average: float(3), MsgRate: float(4)}, nil
}
