package capture

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/trace/analysis"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// endless is a capture of a connection that SENDs for as many bytes as are left: the packets of a
// captured one, one by one, with new PSNs and times. Each 100th data packet is lost and sent again.
type endless struct {
	data, ack wire.Packet
	psn       uint32
	at        uint64 // microseconds
	left      int64
	buffered  bytes.Buffer
}

func newEndless(t testing.TB, size int64) *endless {
	e := &endless{left: size}
	file := load(t, "rc-send-multi")
	all, _ := packets(t, file)
	for _, frame := range all {
		var p wire.Packet
		if p.Parse(bytes.Clone(frame)) != nil {
			continue
		}
		if p.Op == wire.RCAck {
			e.ack = p
		} else if p.Op == wire.RCSendMiddle {
			e.data = p
		}
	}
	require.NotEmpty(t, e.data.Frame)
	require.NotEmpty(t, e.ack.Frame)
	e.buffered.Write(file[:24])
	return e
}

func (e *endless) write(p *wire.Packet, psn uint32) {
	e.at++
	p.BTH().PSN.Set(psn & 0xffffff)
	p.SetICRC()
	var head [16]byte
	binary.LittleEndian.PutUint32(head[:], uint32(e.at/1e6))
	binary.LittleEndian.PutUint32(head[4:], uint32(e.at%1e6))
	binary.LittleEndian.PutUint32(head[8:], uint32(len(p.Frame)))
	binary.LittleEndian.PutUint32(head[12:], uint32(len(p.Frame)))
	e.buffered.Write(head[:])
	e.buffered.Write(p.Frame)
	e.left -= int64(len(head) + len(p.Frame))
}

func (e *endless) Read(b []byte) (int, error) {
	for e.buffered.Len() < len(b) && e.left > 0 {
		e.psn++
		if e.psn%100 != 0 {
			e.write(&e.data, e.psn)
		} else {
			e.write(&e.data, e.psn+1)
			e.write(&e.data, e.psn)
			e.write(&e.data, e.psn+1)
			e.psn++
		}
		if e.psn%16 == 0 {
			e.write(&e.ack, e.psn)
		}
	}
	return e.buffered.Read(b)
}

// BenchmarkGiB analyses a capture of 1 GiB and reports the memory in use at its end.
func BenchmarkGiB(b *testing.B) {
	for b.Loop() {
		in := newEndless(b, int64(units.GiB))
		r := analysis.New("endless", analysis.Capture)
		shown := 0
		require.NoError(b, Read(in, r, func(int64) { shown++ }))
		require.NotZero(b, shown)
		require.Len(b, r.Flows, 1)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.Sys)/float64(units.MiB), "MiB")
		b.ReportMetric(float64(r.Items), "packets")
	}
	b.SetBytes(int64(units.GiB))
}
