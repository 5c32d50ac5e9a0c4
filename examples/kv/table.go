package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

const (
	// MaxEntry is how many bytes a key and its value have together.
	MaxEntry = slotSize - entryAt

	slotSize    = 128
	bucketSlots = 2
	bucketSize  = bucketSlots * slotSize
	// maxProbes is how many buckets in a row may hold a key.
	maxProbes = 8

	// A slot: checksum of what follows, version, lengths (key of 0: never used), key and value.
	versionAt  = 4
	keyLenAt   = 8
	valueLenAt = 9
	entryAt    = 10
)

// Errors of the store.
var (
	ErrNotFound = errors.New("kv: no such key")
	ErrFull     = errors.New("kv: no place for another key with this hash")
	ErrTooLong  = fmt.Errorf("kv: want a key of 1 byte or more, and at most %d with its value",
		MaxEntry)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// bucketOf returns the first of the buckets that may hold a key.
func bucketOf(key []byte, buckets int) int {
	// The product spreads keys whose checksums differ in few bits (Knuth, TAOCP 3, 6.4).
	h := uint64(crc32.Checksum(key, castagnoli)) * 0x9E3779B97F4A7C15 >> 32
	return int(h * uint64(buckets) >> 32)
}

// slot is a place of the table.
type slot []byte

func slotOf(bucket []byte, i int) slot { return bucket[i*slotSize : (i+1)*slotSize] }

// isUsed reports whether the slot has a key. That stays for good, and so does its length, of one
// byte: a READ during a later PUT does not take the slot for an unused one.
func (s slot) isUsed() bool { return s[keyLenAt] != 0 }

// isWhole reports whether the checksum is right. A READ may see half of a PUT: its bytes are copied
// in no particular order, by packets and within them, so that equal versions at both ends of a slot
// would prove nothing about the bytes between.
func (s slot) isWhole() bool {
	return binary.LittleEndian.Uint32(s) == crc32.Checksum(s[versionAt:], castagnoli) &&
		int(s[keyLenAt])+int(s[valueLenAt]) <= MaxEntry
}

func (s slot) key() []byte { return s[entryAt : entryAt+int(s[keyLenAt])] }

func (s slot) value() []byte {
	at := entryAt + int(s[keyLenAt])
	return s[at : at+int(s[valueLenAt])]
}

// set replaces the entry.
func (s slot) set(key, value []byte) {
	version := binary.LittleEndian.Uint32(s[versionAt:]) + 1
	binary.LittleEndian.PutUint32(s[versionAt:], max(version, 1))
	s[keyLenAt], s[valueLenAt] = byte(len(key)), byte(len(value))
	clear(s[entryAt+copy(s[entryAt:], key)+copy(s[entryAt+len(key):], value):])
	binary.LittleEndian.PutUint32(s, crc32.Checksum(s[versionAt:], castagnoli))
}

// found is what a bucket says about a key.
type found uint8

const (
	here      found = iota
	elsewhere       // the bucket is full of others: the next one may have it
	nowhere
	torn // read it again
)

// find looks for a key in a bucket. The value is that of the bucket's memory.
func find(bucket, key []byte) (value []byte, where found) {
	for i := range bucketSlots {
		switch s := slotOf(bucket, i); {
		case !s.isUsed():
			return nil, nowhere
		case !s.isWhole():
			return nil, torn
		case string(s.key()) == string(key):
			return s.value(), here
		}
	}
	return nil, elsewhere
}

// put stores an entry in a table.
func put(table, key, value []byte) error {
	buckets := len(table) / bucketSize
	for probe := range min(maxProbes, buckets) {
		at := (bucketOf(key, buckets) + probe) % buckets * bucketSize
		for i := range bucketSlots {
			s := slotOf(table[at:at+bucketSize], i)
			if !s.isUsed() || string(s.key()) == string(key) {
				s.set(key, value)
				return nil
			}
		}
	}
	return ErrFull
}

// check returns ErrTooLong unless an entry fits.
func check(key, value []byte) error {
	if len(key) == 0 || len(key)+len(value) > MaxEntry {
		return fmt.Errorf("%w: key of %d bytes, value of %d", ErrTooLong, len(key), len(value))
	}
	return nil
}
