package wire

// ImmDtLen is the length of immediate data, which is one number (IB 9.3.8).
const ImmDtLen = 4

// iethLen is the length of an invalidate extended transport header, which is one key (IB 9.3.7).
const iethLen = 4

// cnpLen is the length of the reserved bytes behind the BTH of a congestion notification packet,
// all zero (A17.9.3).
const cnpLen = 16
