// Package tocc holds experiments of ToCC (An Anatomy of Token-Based Congestion Control, ToN 2025),
// one a file: the design space, one bottleneck, leaf-spine networks with tokens and without, and
// the testbed in the fabric.
package tocc
