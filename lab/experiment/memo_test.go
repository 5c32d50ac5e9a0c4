package experiment

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A failed call of make is repeated by the next call of Of.
func TestMemo(t *testing.T) {
	var o Memo[int]
	calls, failed := 0, errors.New("no")
	ask := func(key string, err error) (int, error) {
		return o.Of(&Job{Scale: Small, Seed: 1}, key, func() (int, error) {
			calls++
			return calls, err
		})
	}
	for _, want := range []struct {
		key   string
		err   error
		value int
		calls int
	}{{"a", failed, 1, 1}, {"a", nil, 2, 2}, {"a", failed, 2, 2}, {"b", nil, 3, 3},
		{"a", nil, 2, 3}} {
		got, err := ask(want.key, want.err)
		assert.Equal(t, want.value, got)
		assert.Equal(t, want.calls, calls)
		assert.Equal(t, calls == 1, err != nil)
	}
}
