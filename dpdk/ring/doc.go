// Package ring makes DPDK's lock-free rings: the wires of the loop: ports.
//
// A ring holds mbufs in flight between the two ends of a loop. It belongs to the pair of ends,
// which frees it when both are closed. The package imports only package eal.
package ring
