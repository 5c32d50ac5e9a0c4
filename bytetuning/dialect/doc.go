// Package dialect translates intents into switch configuration: SONiC CONFIG_DB, Cisco NX-OS,
// Arista EOS, Huawei VRP, H3C Comware, NVIDIA Onyx and NVIDIA Cumulus (NVUE). Each dialect is a
// file.
//
// Render returns the configuration, its undo, and the effective intent: sizes are rounded up to the
// switch's unit (bytes, kilobytes of 1000, cells), so that they are never below the intended ones.
// A value that a switch does not support is an error; a parameter that a dialect cannot express is
// a warning. Parse reads what Render wrote; for SONiC it reads any CONFIG_DB.
//
// The syntax follows vendors' documents and published configurations. Lines without such a source
// are left out with a warning; Options.Unverified includes them. No line was tested on a switch.
//
// Names of layers and interfaces are validated before they are used in a line. The package imports
// bytetuning, intent and units. It opens no connection; package live does.
package dialect
