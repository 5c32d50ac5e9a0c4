package hostmodel

// Order is in which order free receive buffers are used again.
type Order uint8

// The orders.
const (
	FIFO Order = iota // the one that was free for longest first: a ring
	LIFO              // the one that was freed last first: what is in use stays as little as it can
)

func (o Order) String() string {
	if o == LIFO {
		return "LIFO"
	}
	return "FIFO"
}

// buffers are the free ones of a receive queue.
type buffers struct {
	order Order
	free  []int32 // a ring
	head  int     // the one that was free for longest
	count int
}

func newBuffers(n int, o Order) buffers {
	b := buffers{order: o, free: make([]int32, n), count: n}
	for i := range b.free {
		b.free[i] = int32(i)
	}
	return b
}

// take answers a free buffer, if there is one.
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

// give takes a buffer back.
func (b *buffers) give(buffer int32) {
	b.free[(b.head+b.count)%len(b.free)] = buffer
	b.count++
}
