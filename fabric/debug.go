//go:build debug

package fabric

// debug makes Run balance the books after every event.
const debug = true
