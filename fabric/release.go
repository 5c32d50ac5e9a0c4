//go:build !debug

package fabric

// debug makes Run balance the books after every event, not only at its end.
const debug = false
