package eal

/*
#include <rte_version.h>
*/
import "C"

// Version returns the version of the DPDK library in use, such as "DPDK 22.11.11".
func Version() string { return C.GoString(C.rte_version()) }
