package experiment

import (
	"fmt"

	"github.com/goroce/goroce/lab/claims"
)

// Keyed is the value of a claim that has a part for each of several keys. Parts are of any type
// that Results.Claim takes.
type Keyed []part

type part struct {
	key   string
	value any
}

// With returns a Keyed of one part, to which its method With adds.
func With(key string, value any) Keyed { return Keyed{{key, value}} }

// With returns the Keyed with one part more.
func (k Keyed) With(key string, value any) Keyed { return append(k, part{key, value}) }

// Each returns a Keyed with a part for each of keys, named as fmt prints the key.
func Each[K, V any](keys []K, value func(K) V) Keyed {
	v := make(Keyed, len(keys))
	for i, k := range keys {
		v[i] = part{fmt.Sprint(k), value(k)}
	}
	return v
}

// value returns the claim's value.
func (k Keyed) value() (v claims.Value, err error) {
	for _, p := range k {
		part, err := valueOf(p.value)
		if err != nil {
			return v, fmt.Errorf("%s: %w", p.key, err)
		}
		v = v.With(p.key, part)
	}
	return v, nil
}
