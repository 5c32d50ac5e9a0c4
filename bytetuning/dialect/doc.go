// Package dialect says an intent in the words of a switch: SONiC's CONFIG_DB, Cisco NX-OS, Arista
// EOS, Huawei VRP, H3C Comware, NVIDIA Onyx and NVIDIA Cumulus (NVUE). Each is a file.
//
// Render answers the configuration, what undoes it, and the effective intent: sizes are rounded up
// to what the switch counts in (bytes, kilobytes of 1000, cells), so that they are never below what
// was wanted. What a switch cannot do is refused with its reason, what a dialect has no word for is
// a warning. Parse reads back what Render wrote; for SONiC it reads any CONFIG_DB.
//
// Syntax is that of vendors' documents and of configurations in public use. What we know of no such
// source is left out with a warning, and given only with Options.Unverified. No line was tried on a
// switch.
//
// Names of layers and interfaces are checked before they get into a line. The package imports
// bytetuning, intent and units; it opens no connection (package live does).
package dialect
