package carclab

import "github.com/goroce/goroce/units"

// pipe delivers tags after equal delays, in order.
type pipe struct {
	m    *model
	tags []uint64
	head int
	do   func(tag uint64)
	next func()
}

func (p *pipe) init(m *model, do func(tag uint64)) {
	*p = pipe{m: m, do: do}
	p.next = func() {
		tag := p.tags[p.head]
		if p.head++; p.head > 1024 && 2*p.head > len(p.tags) {
			p.tags = append(p.tags[:0], p.tags[p.head:]...)
			p.head = 0
		}
		p.do(tag)
	}
}

func (p *pipe) put(at units.Time, tag uint64) {
	p.tags = append(p.tags, tag)
	p.m.clock.At(at, p.next)
}
