package rdmacm

import "fmt"

// Config is what a Machine is made of. Times are codes of 4.096 µs · 2^n; 0 takes the default,
// which is what Linux (6.1) uses.
type Config struct {
	GUID uint64 // of our adapter
	// of the connection IDs, for simulation; 0: nobody can predict them, and peers tell us from our
	// past
	Seed uint64

	ResponseTimeout uint8 // in which either side answers a message; default 20, 4.3 s
	MaxRetries      uint8 // how often a message is repeated, at most 15; default 15
	PacketLifetime  uint8 // of a packet in the network; default 18, 1.1 s
	ACKDelay        uint8 // in which our queue pairs acknowledge; default 15, 134 ms
	ServiceTimeout  uint8 // in which our program decides on a connection; default 24, 69 s
	MaxTimeout      uint8 // the longest that a peer can have us wait at a time; default 24, 69 s
	// the longest that a peer can have us wait for its RTU, all tries together; default 25, 137 s:
	// Linux's 16 tries take 103 s
	MaxPatience uint8
	// connections at a time, those in timewait included; an eighth is for Connect alone; default
	// 1024
	MaxConns int
}

func (c *Config) complete() error {
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
			return fmt.Errorf("rdmacm: new: %s %d is more than %d: %w", code.name, *code.value,
				code.largest, ErrInvalid)
		}
	}
	if c.MaxConns == 0 {
		c.MaxConns = 1024
	}
	if c.MaxConns < 0 {
		return fmt.Errorf("rdmacm: new: %d connections: %w", c.MaxConns, ErrInvalid)
	}
	return nil
}
