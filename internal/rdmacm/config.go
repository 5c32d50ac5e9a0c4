package rdmacm

import "fmt"

// Config holds the parameters of a Machine. Times are codes n for 4.096 µs · 2^n; 0 means the
// default, Linux 6.1's.
type Config struct {
	GUID uint64 // of our adapter
	// Seed seeds the connection IDs, for simulation. 0 means unpredictable IDs, by which peers also
	// distinguish us from an earlier instance.
	Seed uint64

	ResponseTimeout uint8 // time in which either side replies to a message; default 20, 4.3 s
	MaxRetries      uint8 // retransmissions of a message, at most 15; default 15
	PacketLifetime  uint8 // lifetime of a packet in the network; default 18, 1.1 s
	ACKDelay        uint8 // time in which our queue pairs acknowledge; default 15, 134 ms
	ServiceTimeout  uint8 // time in which our program decides on a connection; default 24, 69 s
	MaxTimeout      uint8 // upper bound of a wait that a peer requests; default 24, 69 s
	// MaxPatience is the upper bound of the wait for a peer's RTU over all tries; default 25, 137
	// s. Linux's 16 tries take 103 s.
	MaxPatience uint8
	// MaxConns is the maximum number of connections, including those in timewait; an eighth of them
	// is reserved for Connect; default 1024.
	MaxConns int
}

func (c *Config) setDefaults() error {
	for _, code := range []struct {
		value   *uint8
		name    string
		preset  uint8
		largest uint8
	}{
		{&c.ResponseTimeout, "response timeout", 20, 31},
		{&c.MaxRetries, "number of retries", 15, 15},
		{&c.PacketLifetime, "packet lifetime", 18, 30},
		{&c.ACKDelay, "ACK delay", 15, 31},
		{&c.ServiceTimeout, "service timeout", 24, 31},
		{&c.MaxTimeout, "longest timeout", 24, 31},
		{&c.MaxPatience, "longest time for an RTU", 25, 31},
	} {
		if *code.value == 0 {
			*code.value = code.preset
		}
		if *code.value > code.largest {
			return fmt.Errorf("rdmacm: new: %s %d: want at most %d: %w", code.name, *code.value,
				code.largest, ErrInvalid)
		}
	}
	if c.MaxConns == 0 {
		c.MaxConns = 1024
	}
	if c.MaxConns < 0 {
		return fmt.Errorf("rdmacm: new: %d connections: want 0 or more: %w", c.MaxConns, ErrInvalid)
	}
	return nil
}
