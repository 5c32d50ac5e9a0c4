// Package cclab holds the experiments on congestion control that are ours: what each algorithm does
// with a link that it shares, through our transport and the simulated fabric. One experiment a
// file.
package cclab
