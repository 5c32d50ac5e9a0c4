// Package openloop sends frames through a fabric without any protocol: when and of what length the
// caller says, whatever becomes of them. Tests and experiments about the network itself use it.
//
// The package may import fabric, packet, units and transport/wire.
package openloop
