// Package hostlab holds the experiments on congestion control between hosts as real ones are: their
// pollers nap, lose their cores, and have no time stamps of the NIC. One experiment a file.
//
// The hosts are models of package fabric; the transport and the algorithms are those that run on a
// NIC. What is expected was written before the first run.
package hostlab
