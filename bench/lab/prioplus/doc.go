// Package prioplus holds experiments of PrioPlus (EuroSys 2025): figure 3, why the congestion control
// that there was cannot do virtual priorities. One experiment a file.
package prioplus
