// Package driver provides the implementations of congestion control behind a device, by name:
// "soft" is the soft NIC of nicoffload on the polling core, "process" the same in a process of its
// own. [Register] adds a driver, for example of a NIC that collects signals itself.
//
// The package imports nicoffload, nicoffload/process and units. A program that uses "process" has
// to begin its main with process.BeChild.
package driver
