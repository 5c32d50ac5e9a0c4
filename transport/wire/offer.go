package wire

import (
	"encoding/hex"
	"fmt"

	"github.com/goroce/goroce/internal/extension"
)

// Features are the parts of the extension that an endpoint can do.
type Features uint32

// The features. The other bits belong to parts to come.
const (
	FeatureProbe  Features = 1   // PROBE and PROBE_ACK
	FeatureToken  Features = 2   // RTS and TOKEN, marks in the BTH, XDATA with a Grant
	FeatureCredit Features = 4   // CREDIT, XACK with a Credit
	FeatureTiming Features = 8   // XACK with a Timing, for packets that ask for it
	FeatureSACK   Features = 16  // selective repeat: XACK with a SACK
	FeatureINT    Features = 32  // XDATA with an INT, XACK with an INTEcho
	FeatureHost   Features = 64  // XACK with a Host
	FeatureBolt   Features = 128 // XDATA with a Bolt, XACK with a BoltEcho, SRC
	// with FeatureCredit: a response returns the credits of its request, and no CREDIT
	FeatureAnswers Features = 512
	FeatureECNEcho Features = 1024 // XACK with an ECNEcho
	// with FeatureCredit: a WRITE without immediate takes credits, too
	FeatureWrites Features = 2048
)

// OfferLen is the length of an offer on the wire.
const OfferLen = 24

const offerMagic = "GRX1"

// Offer is what an endpoint says when it connects about the extension. The zero Offer is that of
// an endpoint without it.
type Offer struct {
	Highest, Lowest uint8  // versions it speaks, from 1
	Tag             uint16 // that the peer shall put into each XCH, not 0
	Features        Features
	SACKBits        uint16 // how far behind a gap it keeps packets
	LineShift       uint8  // with FeatureCredit: its cache line is 1<<LineShift bytes
	// with FeatureCredit: lines that may be unconsumed at first; 0 has none to give
	Credits uint32
}

const (
	leastLineShift = 4
	mostLineShift  = 12

	// MinCreditLine is the least length of a cache line, in bytes.
	MinCreditLine = 1 << leastLineShift
	// MaxCreditLine is the greatest length of a cache line, in bytes.
	MaxCreditLine = 1 << mostLineShift
)

// Append appends the OfferLen bytes of the offer to b.
func (o Offer) Append(b []byte) []byte {
	var block [OfferLen]byte
	copy(block[:], offerMagic)
	block[4], block[5] = o.Highest, o.Lowest
	putBE16(block[6:], o.Tag)
	putBE32(block[8:], uint32(o.Features))
	putBE16(block[12:], o.SACKBits)
	block[15] = o.LineShift
	putBE32(block[16:], o.Credits)
	return append(b, block[:]...)
}

// ParseOffer reads an offer. What a later version appends to it is ignored.
func ParseOffer(b []byte) (Offer, error) {
	if len(b) < OfferLen || string(b[:len(offerMagic)]) != offerMagic {
		return Offer{}, fmt.Errorf("%w: %d bytes that begin with %q", ErrOffer, len(b),
			b[:min(len(b), len(offerMagic))])
	}
	o := Offer{Highest: b[4], Lowest: b[5], Tag: be16(b[6:]), Features: Features(be32(b[8:])),
		SACKBits:  be16(b[12:]),
		LineShift: b[15], Credits: be32(b[16:])}
	if o.Lowest == 0 || o.Lowest > o.Highest || o.Tag == 0 {
		return Offer{}, fmt.Errorf("%w: versions %d to %d, tag %#x", ErrOffer, o.Lowest, o.Highest,
			o.Tag)
	}
	return o, nil
}

// MarshalText shows the offer's bytes in hexadecimal: what a handshake in text carries.
func (o Offer) MarshalText() ([]byte, error) {
	return hex.AppendEncode(nil, o.Append(nil)), nil
}

// UnmarshalText reads what MarshalText wrote.
func (o *Offer) UnmarshalText(text []byte) error {
	b, err := hex.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOffer, err)
	}
	*o, err = ParseOffer(b)
	return err
}

// Agreement is what two offers have in common. The zero Agreement is plain RoCEv2.
type Agreement struct {
	Features Features
	SendTag  uint16 // the peer's: in the XCH of what we send
	RecvTag  uint16 // ours: in the XCH of what we take
	SACKBits uint16 // with FeatureSACK: 32 to MaxSACKBits, a multiple of 32

	LineShift   uint8  // with FeatureCredit: what a credit is for
	SendCredits uint32 // what the peer gives at first: for what we send
	RecvCredits uint32 // what we give
}

// Agree answers what comes of our offer and the peer's: the features of both, of numbers the
// smaller, and nothing when there is no version that both speak.
func Agree(ours, theirs Offer) Agreement {
	version := min(ours.Highest, theirs.Highest)
	if version == 0 || version < max(ours.Lowest, theirs.Lowest) {
		return Agreement{}
	}
	a := Agreement{Features: ours.Features & theirs.Features, SendTag: theirs.Tag,
		RecvTag: ours.Tag}
	if a.Features&FeatureSACK != 0 {
		a.SACKBits = min(ours.SACKBits, theirs.SACKBits, extension.MaxSACKBits) &^ 31
	}
	if a.SACKBits == 0 {
		a.Features &^= FeatureSACK
	}
	if a.Features&FeatureCredit != 0 {
		a.agreeCredits(&ours, &theirs)
	}
	if a.Features&FeatureCredit == 0 {
		a.Features &^= FeatureAnswers | FeatureHost | FeatureWrites
	}
	if a.Features == 0 {
		return Agreement{}
	}
	return a
}

// agreeCredits agrees on credits, or leaves them: where neither gives any, or a line cannot be.
func (a *Agreement) agreeCredits(ours, theirs *Offer) {
	shift := min(ours.LineShift, theirs.LineShift)
	most := max(ours.LineShift, theirs.LineShift)
	if shift < leastLineShift || most > mostLineShift || ours.Credits == 0 && theirs.Credits == 0 ||
		max(ours.Credits, theirs.Credits) > extension.MaxCreditLines {
		a.Features &^= FeatureCredit
		return
	}
	a.LineShift, a.SendCredits, a.RecvCredits = shift, theirs.Credits, ours.Credits
}
