// Package cluster puts transport's endpoints on the hosts of a simulated fabric, connects their
// queue pairs, and drives flows through them: what the lab, the soak test and the fabric's
// benchmarks have in common.
//
// A flow is posted as RDMA WRITEs on a reliable connection between its two hosts that no other flow
// uses at the time; it is over when the last of them completes. All hosts read from one buffer and
// write into another, so that a simulation of hundreds of hosts fits a cache: who wants to see
// payloads checked looks at test/soak.
//
// The package imports fabric and transport, which do not know each other.
package cluster
