package neigh

// queue holds the frames that wait for Emit. Its slots keep their memory, so only the first long
// echo replies allocate.
type queue struct {
	slots       [QueueDepth][]byte
	head, count int
}

func (q *queue) init() {
	slab := make([]byte, QueueDepth*slotBytes)
	for i := range q.slots {
		q.slots[i] = slab[i*slotBytes : i*slotBytes : (i+1)*slotBytes]
	}
}

// push returns a buffer of n bytes for a new frame, whose padding is already zero, or nil if depth
// frames are waiting.
func (q *queue) push(n, depth int) []byte {
	if q.count >= depth {
		return nil
	}
	slot := &q.slots[(q.head+q.count)%QueueDepth]
	padded := max(n, minFrame)
	if padded > cap(*slot) {
		*slot = make([]byte, padded, maxFrame)
	}
	*slot = (*slot)[:padded]
	clear((*slot)[n:])
	q.count++
	return (*slot)[:n]
}

// pop removes and returns the oldest frame, which is valid until the next push.
func (q *queue) pop() []byte {
	frame := q.slots[q.head]
	q.count--
	if q.head = (q.head + 1) % QueueDepth; q.count == 0 {
		q.head = 0 // the first slots stay warm in the cache
	}
	return frame
}
