package wire

import (
	"fmt"
	"testing"
	"time"
)

func least(f func()) float64 {
	best := 1e9
	for range 3000 {
		s := time.Now()
		for range 200 {
			f()
		}
		best = min(best, float64(time.Since(s).Nanoseconds())/200)
	}
	return best
}

func TestMin(t *testing.T) {
	var x uint32
	fmt.Println("clock", least(func() { for i := range uint32(100) { x = x*7 + i } })/100, "ns per 4-cycle (3+1) step")
	for _, n := range []int{0, 24, 32, 64, 256, 1024, 4096, 9000} {
		frame := aFrame(t, n)
		tmpl := aTemplate(t, false)
		var p Packet
		p.Parse(frame)
		fmt.Printf("%5d icrc %.2f parse %.2f build %.2f seal %.2f both %.2f\n", n, least(func() { p.ICRC() }), least(func() { p.Parse(frame) }),
			least(func() { tmpl.Build(frame, Fields{Op: RCSendOnly, PSN: 3}, n) }), least(func() { tmpl.Seal(frame) }),
			least(func() { tmpl.Build(frame, Fields{Op: RCSendOnly, PSN: 3}, n); tmpl.Seal(frame) }))
	}
}
