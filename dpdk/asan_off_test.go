//go:build !asan

package dpdk_test

const underASan = false
