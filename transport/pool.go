package transport

// pool is a free list of state that few queue pairs need at a time.
type pool[T any] struct {
	free  []*T
	inUse int
	make  func() *T // nil: new
}

func (p *pool[T]) get() *T {
	p.inUse++
	n := len(p.free)
	if n == 0 {
		if p.make != nil {
			return p.make()
		}
		return new(T)
	}
	t := p.free[n-1]
	p.free = p.free[:n-1]
	return t
}

func (p *pool[T]) put(t *T) {
	p.inUse--
	p.free = append(p.free, t)
}
