// Package queue has the queues between goroutines and a polling core: Queue, bounded and without
// locks, for any number of producers and consumers, and FIFO, for one goroutine.
//
// It imports the standard library's sync/atomic alone.
package queue
