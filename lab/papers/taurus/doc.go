// Package taurus holds experiments of TAURUS (PACMNET CoNEXT, December 2025), one a file: the cost
// and capacity of the split on this machine, the messages across it, its rate limiter, and
// congestion control in the fabric, in line and behind the split.
package taurus
