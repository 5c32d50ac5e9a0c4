// Package prioplus holds experiments of PrioPlus (EuroSys 2025), one a file: what the paper
// derives, its figures with one bottleneck, and the testbed's in the fabric.
package prioplus
