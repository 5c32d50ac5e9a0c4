package experiment

import "sync"

// Memo caches simulations that several experiments share, so that a process makes each only once.
// The zero value is ready for use.
type Memo[T any] struct {
	mu  sync.Mutex
	all map[memoKey]*made[T]
}

type memoKey struct {
	params any
	scale  Scale
	seed   uint64
}

type made[T any] struct {
	sync.Mutex
	is  bool
	out T
}

// Of returns the result of make for params, which must be comparable, at the job's scale and with
// its seed. It calls make unless an earlier call succeeded; concurrent calls wait.
func (o *Memo[T]) Of(j *Job, params any, make func() (T, error)) (T, error) {
	key := memoKey{params, j.Scale, j.Seed}
	o.mu.Lock()
	if o.all == nil {
		o.all = map[memoKey]*made[T]{}
	}
	one := o.all[key]
	if one == nil {
		one = &made[T]{}
		o.all[key] = one
	}
	o.mu.Unlock()
	one.Lock()
	defer one.Unlock()
	if one.is {
		return one.out, nil
	}
	out, err := make()
	one.is, one.out = err == nil, out
	return out, err
}
