// Package gopacketroce has the layers of RoCEv2 packets for gopacket/gopacket: [BTH],
// the extended headers [DETH], [RETH], [AETH], [AtomicETH], [AtomicAckETH], [ImmDt], [IETH], then a
// gopacket.Payload when there is payload, then the [ICRC] with its pad. Importing it makes gopacket
// decode UDP port 4791. What a packet of goroce's extension has behind its BTH is payload.
//
// Every layer also decodes alone, for gopacket.DecodingLayerParser. There BTH returns the type of
// the header that follows it, and the rest is payload. To write a packet, serialize the layers in
// wire order, from the Ethernet layer on, then call [Seal] for the ICRC, which covers the headers
// of all layers.
//
// The layers use the headers of package wire. The data path does not import this package, because
// gopacket allocates.
package gopacketroce
