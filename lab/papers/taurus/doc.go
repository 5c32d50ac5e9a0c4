// Package taurus holds experiments of TAURUS (PACMNET CoNEXT, December 2025), one a file: what the
// split costs and carries on this machine, what crosses it, its rate limiter, and congestion
// control in the fabric, in line and behind it.
package taurus
