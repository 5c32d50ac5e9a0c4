package transport

// pool lends state that few queue pairs need at a time.
type pool[T any] struct {
	idle []*T
	lent int
}

func (p *pool[T]) borrow() *T {
	p.lent++
	n := len(p.idle)
	if n == 0 {
		return new(T)
	}
	t := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return t
}

func (p *pool[T]) giveBack(t *T) {
	p.lent--
	p.idle = append(p.idle, t)
}
