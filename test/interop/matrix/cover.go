package matrix

import (
	"fmt"
	"math/rand/v2"
)

// goals are what a cell contributes to a covering subset: with its group (test, role, service) each
// of its other values, and each pair of values of two dimensions.
func (c Cell) goals() []string {
	group := fmt.Sprint("group=", c.Test, c.Role, c.Service)
	values := []string{
		fmt.Sprint("test=", c.Test), fmt.Sprint("role=", c.Role), fmt.Sprint("service=", c.Service),
		fmt.Sprint("ip=", c.IP), fmt.Sprint("size=", int64(c.Size)), fmt.Sprint("mtu=",
			int64(c.MTU)),
		fmt.Sprint("qps=", c.QPs),
	}
	const ofGroup = 3
	goals := []string{group}
	for _, v := range values[ofGroup:] {
		goals = append(goals, group+" "+v)
	}
	for i, v := range values {
		for _, w := range values[i+1:] {
			goals = append(goals, v+" "+w)
		}
	}
	return goals
}

// seed orders cells that serve equally well; the cover is the same every time.
const seed = 4791

// Quick is the cells of Full that reach every goal that one of them reaches: greedily the one that
// reaches the most that are left, for the time it takes.
func Quick() []Cell {
	left := Full()
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(left), func(i, j int) {
		left[i], left[j] = left[j], left[i]
	})
	goals := make([][]string, len(left))
	open := map[string]bool{}
	for i, c := range left {
		goals[i] = c.goals()
		for _, g := range goals[i] {
			open[g] = true
		}
	}
	chosen := map[Cell]bool{}
	for len(open) > 0 {
		best, most := 0, 0.0
		for i, c := range left {
			reached := 0
			for _, g := range goals[i] {
				if open[g] {
					reached++
				}
			}
			if value := float64(reached) / c.Seconds(); value > most {
				best, most = i, value
			}
		}
		chosen[left[best]] = true
		for _, g := range goals[best] {
			delete(open, g)
		}
	}
	var cells []Cell
	for _, c := range Full() { // in its order
		if chosen[c] {
			cells = append(cells, c)
		}
	}
	return cells
}
