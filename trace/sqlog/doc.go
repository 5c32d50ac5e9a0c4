// Package sqlog writes and reads event logs in qlog's form: JSON text sequences (RFC 7464), which
// qlog names .sqlog (draft-ietf-quic-qlog-main-schema, section 5). The first record is a header,
// and each further one an event of package trace, in one line:
//
//	{"time":12.345678,"name":"recovery:packet_lost","host":"loop:/0","qp":17,
//	 "data":{"psn":4711,"packets":1,"bytes":1024,"reason":"sack"}}
//
// Times are milliseconds since the header's reference time.
//
// A [Log] takes events out of the rings of any number of polling cores: in a goroutine of its own,
// or, where a simulation must lose none, on the recorder's whenever a ring is full. A [Reader]
// returns them, and an error with the offset of the first record that breaks a rule.
package sqlog
