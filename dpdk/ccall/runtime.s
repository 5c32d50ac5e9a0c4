//go:build go1.26 && !go1.28 && amd64 && !race && !asan && !msan && !goroce_cgo

// An assembly file, if an empty one, lets the package declare a function without a body.
