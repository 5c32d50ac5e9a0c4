package rdmacm

import (
	"container/heap"

	"github.com/goroce/goroce/units"
)

// deadlines is a heap of the connections that wait for something.
type deadlines []*Conn

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].deadline.Before(d[j].deadline) }
func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].heapIx, d[j].heapIx = i, j
}

// Push and Pop are for container/heap.
func (d *deadlines) Push(x any) {
	c := x.(*Conn)
	c.heapIx = len(*d)
	*d = append(*d, c)
}

func (d *deadlines) Pop() any {
	last := len(*d) - 1
	c := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	c.heapIx = -1
	return c
}

// wake has the connection expire at t.
func (c *Conn) wake(t units.Time) {
	c.deadline = t
	if c.heapIx < 0 {
		heap.Push(&c.machine.deadlines, c)
	} else {
		heap.Fix(&c.machine.deadlines, c.heapIx)
	}
}

// stop has it wait for nothing.
func (c *Conn) stop() {
	if c.heapIx >= 0 {
		heap.Remove(&c.machine.deadlines, c.heapIx)
	}
}
