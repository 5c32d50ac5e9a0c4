package queue

// FIFO is an unbounded queue for one goroutine. The zero value is empty. It allocates only when it
// holds more values than ever before.
type FIFO[T any] struct {
	ring    []T
	in, out uint
}

// Len returns the number of values.
func (f *FIFO[T]) Len() int { return int(f.in - f.out) }

// Add returns the place of a new youngest value, which is zero. It is valid until the next call.
func (f *FIFO[T]) Add() *T {
	if f.Len() == len(f.ring) {
		f.grow()
	}
	v := &f.ring[f.in&uint(len(f.ring)-1)]
	f.in++
	return v
}

// Front returns the oldest value, of a queue that is not empty, until it is removed.
func (f *FIFO[T]) Front() *T { return &f.ring[f.out&uint(len(f.ring)-1)] }

// Remove removes the oldest value of a queue that is not empty.
func (f *FIFO[T]) Remove() {
	var zero T
	*f.Front() = zero
	f.out++
}

func (f *FIFO[T]) grow() {
	ring := make([]T, max(8, 2*len(f.ring)))
	n := uint(f.Len())
	for i := range n {
		ring[i] = f.ring[(f.out+i)&uint(len(f.ring)-1)]
	}
	f.ring, f.in, f.out = ring, n, 0
}
