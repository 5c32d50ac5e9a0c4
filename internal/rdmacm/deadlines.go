package rdmacm

import (
	"container/heap"

	"github.com/goroce/goroce/units"
)

// deadlines is a heap of connections by deadline.
type deadlines []*Conn

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].deadline.Before(d[j].deadline) }
func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].heapIndex, d[j].heapIndex = i, j
}

// Push implements heap.Interface.
func (d *deadlines) Push(x any) {
	c := x.(*Conn)
	c.heapIndex = len(*d)
	*d = append(*d, c)
}

// Pop implements heap.Interface.
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	c := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	c.heapIndex = -1
	return c
}

// setDeadline sets the deadline of the connection.
func (c *Conn) setDeadline(t units.Time) {
	c.deadline = t
	if c.heapIndex < 0 {
		heap.Push(&c.machine.deadlines, c)
	} else {
		heap.Fix(&c.machine.deadlines, c.heapIndex)
	}
}

// clearDeadline removes the deadline of the connection.
func (c *Conn) clearDeadline() {
	if c.heapIndex >= 0 {
		heap.Remove(&c.machine.deadlines, c.heapIndex)
	}
}
