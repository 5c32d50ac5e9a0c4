//go:build !debug

package fabric

// debug makes Run call Check after every event, not only at its end.
const debug = false
