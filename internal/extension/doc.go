// Package extension has the formats of goroce's extension of RoCEv2: the bodies of PROBE, RTS,
// TOKEN and SRC packets, and the TLVs of XACK, XDATA and CREDIT packets. docs/wire.md specifies
// every byte.
//
// Package wire parses the packets around them and calls [TLVs.Valid], [TLVs.IsCredit] and
// [Token.Valid] before anything else reads a body. The readers rely on that: they do not check
// lengths. A reader of a packet from elsewhere, such as a dissector, calls wire's Packet.Parse
// first, then, for instance, TLVs(p.TLVs()).SACK() or RTS(p.Body()).
//
// Values that count modulo a power of two, such as PSNs, are plain integers here. The package
// imports only units.
package extension
