// Package hostlab holds the experiments on congestion control between realistic hosts: their
// pollers
// nap, lose their cores, and have no time stamps of the NIC. One experiment a file.
//
// The hosts are models of package fabric; the transport and the algorithms are those that run on a
// NIC. The expectations were written before the first run.
package hostlab
