// Package cclab holds our own experiments on congestion control: how each algorithm shares a link,
// through our transport and the simulated fabric. One experiment a file.
package cclab
