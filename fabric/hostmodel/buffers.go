package hostmodel

// Order is the order in which free receive buffers are reused.
type Order uint8

// The orders.
const (
	FIFO Order = iota // longest free first, as in a ring
	LIFO              // last freed first, which keeps the set of used buffers small
)

func (o Order) String() string {
	if o == LIFO {
		return "LIFO"
	}
	return "FIFO"
}

// buffers is the free buffers of a receive queue.
type buffers struct {
	order Order
	free  []int32 // a ring
	head  int     // index of the longest free buffer
	count int
}

func newBuffers(n int, o Order) buffers {
	b := buffers{order: o, free: make([]int32, n), count: n}
	for i := range b.free {
		b.free[i] = int32(i)
	}
	return b
}

// take allocates a free buffer, if there is one.
func (b *buffers) take() (buffer int32, ok bool) {
	if b.count == 0 {
		return 0, false
	}
	b.count--
	if b.order == LIFO {
		return b.free[(b.head+b.count)%len(b.free)], true
	}
	buffer = b.free[b.head]
	b.head = (b.head + 1) % len(b.free)
	return buffer, true
}

// give frees a buffer.
func (b *buffers) give(buffer int32) {
	b.free[(b.head+b.count)%len(b.free)] = buffer
	b.count++
}
