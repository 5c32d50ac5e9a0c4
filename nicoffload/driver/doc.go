// Package driver has what runs an endpoint's congestion control behind a device, by name: "soft",
// the soft NIC of nicoffload on the polling core; "process", the same in a process of its own.
// [Register] adds one, such as that of a NIC which collects by itself.
//
// The package imports nicoffload, nicoffload/process and units. A program that names "process"
// begins its main with process.BeChild.
package driver
