//go:build debug

package fabric

// debug makes Run call Check after every event.
const debug = true
