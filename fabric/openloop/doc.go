// Package openloop sends frames through a fabric without a protocol, at times and of lengths that
// the caller chooses and without reaction to loss. It serves tests and experiments about the
// network itself.
//
// The package may import fabric, packet, units and transport/wire.
package openloop
