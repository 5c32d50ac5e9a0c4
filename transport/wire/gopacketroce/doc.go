// Package gopacketroce shows RoCEv2 packets to tools and tests as layers of google/gopacket: [BTH],
// the extended headers [DETH], [RETH], [AETH], [AtomicETH], [AtomicAckETH], [ImmDt], [IETH], then a
// gopacket.Payload when there is payload, then the [ICRC] with its pad. Importing it makes gopacket
// decode UDP port 4791.
//
// Every layer also decodes alone, into itself, for gopacket.DecodingLayerParser; there BTH knows
// the header that follows it, and what follows that is payload. Writing: serialize the layers in
// their order, from the Ethernet layer on, then let [Seal] fill in the ICRC, which covers headers
// of all layers.
//
// The layers are written with the header views of package wire, where the formats stand. Nothing
// of the data path imports this package: it allocates as gopacket does.
package gopacketroce
