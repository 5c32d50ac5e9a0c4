// Package prefetch asks the processor to bring memory into its cache before it is read. A burst of
// packets of many connections finds little in the cache: fetched together, the misses of all of
// them overlap.
//
// The package imports only unsafe.
package prefetch
