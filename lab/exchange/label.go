package exchange

import (
	"cmp"
	"slices"
	"strings"
)

// exchange is a difference between labels, with all pairs of labels that differ in it.
type exchange struct {
	a, b  string // the words in which the labels differ
	pairs [][2]string
}

// String names what is exchanged. If one side has no words of its own, the word before or after
// those of the other is on both sides: "ToCC and ToCC w/o limiter".
func (x *exchange) String() string {
	a, b := x.a, x.b
	if a == "" || b == "" {
		one, other := words(x.pairs[0][0]), words(x.pairs[0][1])
		n := 0 // the words with which both begin
		for n < min(len(one), len(other)) && one[n] == other[n] {
			n++
		}
		if n > 0 {
			a, b = one[n-1]+" "+a, one[n-1]+" "+b
		} else {
			a, b = a+" "+one[len(one)-1], b+" "+one[len(one)-1]
		}
	}
	return strings.TrimSpace(a) + " and " + strings.TrimSpace(b)
}

// words returns the words of a label.
func words(label string) []string {
	return strings.FieldsFunc(label, func(r rune) bool { return r == ' ' || r == ',' })
}

// difference returns the words of two labels between those with which both begin and end, and how
// many words these are.
func difference(x, y []string) (a, b []string, common int) {
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
		common++
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
		common++
	}
	return x, y, common
}

// exchanges returns the differences between labels, those of most pairs first. accept reports
// whether two labels may be exchanged at all.
func exchanges(labels []string, accept func(a, b []string, common int) bool) []*exchange {
	t := &table{labels: labels, between: map[[2]int]*exchange{}}
	byWords := map[[2]string]*exchange{}
	var all []*exchange
	for i, x := range labels {
		for j := i + 1; j < len(labels); j++ {
			a, b, common := difference(words(x), words(labels[j]))
			if !accept(a, b, common) {
				continue
			}
			key := [2]string{strings.Join(a, " "), strings.Join(b, " ")}
			pair := [2]string{x, labels[j]}
			if byWords[[2]string{key[1], key[0]}] != nil {
				key[0], key[1] = key[1], key[0]
				pair[0], pair[1] = pair[1], pair[0]
			}
			if byWords[key] == nil {
				byWords[key] = &exchange{a: key[0], b: key[1]}
				all = append(all, byWords[key])
			}
			byWords[key].add(pair)
			t.between[[2]int{i, j}] = byWords[key]
		}
	}
	all = slices.DeleteFunc(all, t.composed)
	slices.SortStableFunc(all, func(x, y *exchange) int {
		return cmp.Compare(len(y.pairs), len(x.pairs))
	})
	return all
}

// add adds a pair, unless one of its labels is in a pair already.
func (x *exchange) add(pair [2]string) {
	for _, p := range x.pairs {
		if slices.Contains(p[:], pair[0]) || slices.Contains(p[:], pair[1]) {
			return
		}
	}
	x.pairs = append(x.pairs, pair)
}

// table has the exchange between each two labels, by their indexes in ascending order.
type table struct {
	labels  []string
	between map[[2]int]*exchange
}

func (t *table) exchange(i, j int) *exchange { return t.between[[2]int{min(i, j), max(i, j)}] }

// composed reports whether an exchange is composed of two that have more pairs: the one between
// "PrioPlus, 2" and "Swift, 8" is, of the scheme's and the number's.
func (t *table) composed(x *exchange) bool {
	i, j := slices.Index(t.labels, x.pairs[0][0]), slices.Index(t.labels, x.pairs[0][1])
	for k := range t.labels {
		one, two := t.exchange(i, k), t.exchange(k, j)
		if k == i || k == j || one == nil || two == nil || one == two {
			continue
		}
		if one.size()+two.size() <= x.size() && min(len(one.pairs), len(two.pairs)) > len(x.pairs) {
			return true
		}
	}
	return false
}

// size returns the number of words in which the labels differ.
func (x *exchange) size() int { return len(words(x.a)) + len(words(x.b)) }
