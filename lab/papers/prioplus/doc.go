// Package prioplus holds experiments of PrioPlus (EuroSys 2025), one a file: the paper's
// derivations, its figures with one bottleneck, and its testbed's in the fabric.
package prioplus
