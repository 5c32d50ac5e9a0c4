package trace

// Category groups kinds of events.
type Category string

// The categories.
const (
	Transport Category = "transport" // packets, acknowledgements, states
	Recovery  Category = "recovery"  // losses, retransmissions, timeouts
	CC        Category = "cc"        // decisions of congestion control and its signals
	Admission Category = "admission" // tokens and credits
	HostEvent Category = "host"      // the polling core, and the log itself
	PortEvent Category = "port"      // ports, also of a network's switches; PFC and ECN
)

// Kind is what happened.
type Kind uint8

// The kinds.
const (
	PacketSent Kind = iota
	PacketReceived
	AckSent
	StateChanged
	Limited

	PacketLost
	PacketRetransmitted
	AckReceived
	NAKReceived
	Timeout

	Decision
	CNPReceived
	CNPSent
	MarkReceived

	GateClosed
	GateOpened
	ControlSent
	ControlReceived

	Away
	EventsLost

	PortFull
	NoBuffers
	PauseSent
	PauseReceived
	FrameDropped
	FrameMarked
	Kinds
)

// Field is a field of an Event in the log. Its name ends with its unit: _ns are nanoseconds, _bps
// bits per second; bytes and packets are counts.
type Field uint8

// The fields.
const (
	FieldPSN Field = iota
	FieldOp
	FieldReason
	FieldCount
	FieldMarked
	FieldBytes
	FieldInFlight
	FieldPackets
	FieldTotal
	FieldCE
	FieldHold
	FieldAcks
	FieldProbe
	FieldFrom
	FieldTo
	FieldCause
	FieldClass
	FieldWindow
	FieldRate
	FieldTarget
	FieldRTT   // Delay, of a sample
	FieldFor   // Delay, of a state that lasted
	FieldDelay // Delay, that is to come
	FieldHost
	FieldPlace
	Fields
)

var fieldNames = [Fields]string{"psn", "op", "reason", "packets", "marked", "bytes", "in_flight",
	"total_packets", "total_bytes", "ce", "hold", "requests_ack", "probe", "from", "to", "cause",
	"class", "window", "rate_bps", "target_ns", "rtt_ns", "for_ns", "delay_ns", "host_ns", "port"}

func (f Field) String() string { return fieldNames[f] }

// Row is the definition of a kind: its qlog name is Category:Name.
type Row struct {
	Category Category
	Name     string
	Fields   []Field
	// Sampled reports whether a log with a sample below 100 % has only the events of sampled PSNs.
	Sampled bool
	Doc     string
}

// Schema is the definition of all kinds.
var Schema = [Kinds]Row{
	PacketSent: {Transport, "packet_sent",
		[]Field{FieldPSN, FieldOp, FieldCount, FieldBytes, FieldInFlight, FieldPackets, FieldTotal},
		true, "A request left for the first time. A READ takes a PSN for each response."},
	PacketReceived: {Transport, "packet_received",
		[]Field{FieldPSN, FieldOp, FieldBytes, FieldReason, FieldCE, FieldPackets, FieldTotal},
		true, "A request or response arrived. With a reason it was not executed in order."},
	AckSent: {Transport, "ack_sent",
		[]Field{FieldPSN, FieldReason},
		true, "An ACK of everything up to psn left or, with a reason, a NAK of psn."},
	StateChanged: {Transport, "state_changed",
		[]Field{FieldFrom, FieldTo},
		false, "The queue pair changed its state."},
	Limited: {Transport, "limited",
		[]Field{FieldReason, FieldFor},
		false, "For how long the reason kept the sender from sending since the last such event."},

	PacketLost: {Recovery, "packet_lost",
		[]Field{FieldPSN, FieldCount, FieldBytes, FieldReason},
		false, "Packets from psn on count as lost."},
	PacketRetransmitted: {Recovery, "packet_retransmitted",
		[]Field{FieldPSN, FieldOp, FieldCount, FieldBytes, FieldInFlight, FieldPackets, FieldTotal,
			FieldReason},
		false, "A request left again, for the reason of the newest loss."},
	AckReceived: {Recovery, "ack_received",
		[]Field{FieldPSN, FieldCount, FieldBytes, FieldMarked, FieldInFlight, FieldRTT, FieldHost},
		true, "Packets before psn are newly acknowledged, with the delay sample if there is one."},
	NAKReceived: {Recovery, "nak_received",
		[]Field{FieldPSN, FieldReason, FieldDelay},
		false, "The peer refused psn; after rnr it is to be sent again after the delay."},
	Timeout: {Recovery, "timeout",
		[]Field{FieldPSN, FieldCount},
		false, "Nothing acknowledged psn in time; packets is the number of tries that are left."},

	Decision: {CC, "decision",
		[]Field{FieldWindow, FieldRate, FieldHold, FieldTarget, FieldRTT, FieldCause, FieldReason},
		true, "Congestion control decided; the reason is that of its last cut."},
	CNPReceived: {CC, "cnp_received", []Field{FieldPackets},
		false, "A congestion notification packet arrived."},
	CNPSent: {CC, "cnp_sent", nil,
		false, "A congestion notification packet left."},
	MarkReceived: {CC, "mark_received",
		[]Field{FieldPSN, FieldPackets},
		true, "A packet arrived with congestion experienced; total_packets counts these."},

	GateClosed: {Admission, "gate_closed",
		[]Field{FieldPSN, FieldReason},
		false, "The next packet waits for tokens or credits."},
	GateOpened: {Admission, "gate_opened",
		[]Field{FieldFor},
		false, "The wait for tokens or credits ended."},
	ControlSent: {Admission, "control_sent",
		[]Field{FieldReason, FieldBytes},
		false, "An RTS, TOKEN or CREDIT left, with demand, limit or credits."},
	ControlReceived: {Admission, "control_received",
		[]Field{FieldReason, FieldBytes},
		false, "An RTS, TOKEN or CREDIT arrived."},

	Away: {HostEvent, "away", []Field{FieldFor},
		false, "The polling core did not poll: it napped or ran something else."},
	EventsLost: {HostEvent, "events_lost", []Field{FieldPackets},
		false, "So many events of the ring were lost so far, because it was full."},

	PortFull: {PortEvent, "full", []Field{FieldClass, FieldCount, FieldFor},
		false, "The port accepted less than a burst so often since the last such event."},
	NoBuffers: {PortEvent, "no_buffers", []Field{FieldCount},
		false, "The port had no buffer so often since the last such event."},
	PauseSent: {PortEvent, "pause_sent", []Field{FieldPlace, FieldClass, FieldFor},
		false, "A port sent a PFC pause; 0 resumes."},
	PauseReceived: {PortEvent, "pause_received", []Field{FieldPlace, FieldClass, FieldFor},
		false, "A port was paused by PFC; 0 resumes."},
	FrameDropped: {PortEvent, "frame_dropped", []Field{FieldPlace, FieldClass, FieldBytes,
		FieldReason},
		false, "A port of a switch dropped a frame."},
	FrameMarked: {PortEvent, "frame_marked", []Field{FieldPlace, FieldClass, FieldBytes},
		false, "A port of a switch marked a frame; bytes is the length of its queue."},
}

// Name returns the qlog name of the kind.
func (k Kind) Name() string {
	if k < Kinds {
		return string(Schema[k].Category) + ":" + Schema[k].Name
	}
	return "unknown"
}
