package experiment

import "sync"

// Once is for simulations that several experiments look at: a process makes each but once. The zero
// value is ready.
type Once[T any] struct {
	mu  sync.Mutex
	all map[onceFor]*made[T]
}

type onceFor struct {
	params any
	scale  Scale
	seed   uint64
}

type made[T any] struct {
	sync.Mutex
	is  bool
	out T
}

// Of answers what comes of params, which can be compared, at the job's scale and with its seed, and
// has it made when nobody has. Others wait meanwhile.
func (o *Once[T]) Of(j *Job, params any, make func() (T, error)) (T, error) {
	key := onceFor{params, j.Scale, j.Seed}
	o.mu.Lock()
	if o.all == nil {
		o.all = map[onceFor]*made[T]{}
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
