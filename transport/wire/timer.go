package wire

import "github.com/goroce/goroce/units"

// rnrTimers is IB 9.7.5.2.8 table 45, in units of 10 µs.
var rnrTimers = [32]units.Duration{
	65536, 1, 2, 3, 4, 6, 8, 12,
	16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072,
	4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
}

// RNRTimer returns the least time that a requester waits after a receiver-not-ready NAK with this
// timer code: from 10 µs (1) to 655.36 ms (0). Only the code's lower five bits count
// (IB 9.7.5.2.8 table 45).
func RNRTimer(code uint8) units.Duration { return rnrTimers[code&31] * 10 * units.Microsecond }

// AckTimeout returns a queue pair's local ACK timeout: 4.096 µs · 2^code, and Forever for 0. Only
// the code's lower five bits count (IB 9.7.6.1.3).
func AckTimeout(code uint8) units.Duration {
	if code &= 31; code == 0 {
		return units.Forever
	}
	return 4096 * units.Nanosecond << code
}
