package pace

import "github.com/goroce/goroce/units"

// ready is a heap of the eligible flows, the earliest finish first.
type ready []entry

type entry struct {
	finish units.Time
	flow   uint32
}

func (e entry) before(f entry) bool {
	return e.finish.Before(f.finish) || e.finish == f.finish && e.flow < f.flow
}

func (r *ready) push(flows []flow, e entry) {
	*r = append(*r, e)
	r.up(flows, len(*r)-1, e)
}

func (r *ready) remove(flows []flow, at int32) {
	i, last := int(at), len(*r)-1
	e := (*r)[last]
	if *r = (*r)[:last]; i == last {
		return
	}
	if i > 0 && e.before((*r)[(i-1)/2]) {
		r.up(flows, i, e)
	} else {
		r.down(flows, i, e)
	}
}

// up places e at i or above, toward the root.
func (r ready) up(flows []flow, i int, e entry) {
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(r[parent]) {
			break
		}
		r.put(flows, i, r[parent])
		i = parent
	}
	r.put(flows, i, e)
}

// down places e at i or below, toward the leaves.
func (r ready) down(flows []flow, i int, e entry) {
	for {
		child := 2*i + 1
		if child >= len(r) {
			break
		}
		if right := child + 1; right < len(r) && r[right].before(r[child]) {
			child = right
		}
		if !r[child].before(e) {
			break
		}
		r.put(flows, i, r[child])
		i = child
	}
	r.put(flows, i, e)
}

func (r ready) put(flows []flow, i int, e entry) {
	r[i] = e
	flows[e.flow].heapIndex = int32(i)
}
