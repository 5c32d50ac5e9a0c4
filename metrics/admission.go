package metrics

import "github.com/goroce/goroce/cc"

// The metrics of tokens and of credits, beside the messages that the endpoint counts. The role is
// that of this host: sender or receiver.
var (
	ofRole = with(ofEndpoint, "role")

	tokensGranted = counter("goroce_tokens_granted_bytes_total", "Bytes granted by tokens.",
		ofRole...)
	tokensDiscarded = counter("goroce_tokens_discarded_bytes_total",
		"Bytes of tokens that the sender discarded: too old, or too many.", ofRole...)
	tokensUnneeded = counter("goroce_tokens_unneeded_bytes_total",
		"Bytes of tokens that arrived when nothing was left to send.", ofRole...)
	tokensUnscheduled = counter("goroce_tokens_unscheduled_bytes_total",
		"Bytes sent or received without a token.", ofRole...)
	tokensRepeats = counter("goroce_tokens_repeated_messages_total",
		"RTSs and TOKENs repeated for lack of a response.", ofRole...)
	tokensMarked = counter("goroce_tokens_marked_messages_total",
		"RTSs and TOKENs received with congestion experienced.", ofRole...)
	tokensLost = counter("goroce_tokens_lost_total", "Tokens that no data returned.", ofRole...)

	creditsMessages = counter("goroce_credits_messages_total",
		"Messages that took credits (sender), or that were delivered (receiver).", ofRole...)
	creditsOverdrawn = counter("goroce_credits_overdrawn_messages_total",
		"Messages larger than all credits.", ofRole...)
	creditsBlocked = counter("goroce_credits_blocked_messages_total",
		"Messages that waited for credits.", ofRole...)
	creditsWaited = counter("goroce_credits_waited_seconds_total",
		"Time for which messages waited for credits.", ofRole...)
	creditsConsumed = counter("goroce_credits_consumed_messages_total",
		"Messages that the program has finished with.", ofRole...)
	creditsQueries = counter("goroce_credits_queries_total",
		"Queries for returned credits, sent or received.", ofRole...)
)

func (s *endpointSample) writeAdmission(w writer) {
	writeAdmission(w.add("sender"), &s.admission.Gates)
	writeAdmission(w.add("receiver"), &s.admission.Granters)
}

func writeAdmission(w writer, c *cc.AdmissionCounts) {
	w.value(tokensGranted, float64(c.Granted))
	w.value(tokensDiscarded, float64(c.Discarded))
	w.value(tokensUnneeded, float64(c.Unneeded))
	w.value(tokensUnscheduled, float64(c.Unscheduled))
	w.count(tokensRepeats, c.Repeats)
	w.count(tokensMarked, c.Marked)
	w.count(tokensLost, c.Lost)
	w.count(creditsMessages, c.Messages)
	w.count(creditsOverdrawn, c.Overdrawn)
	w.count(creditsBlocked, c.Blocked)
	w.value(creditsWaited, seconds(c.Waited))
	w.count(creditsConsumed, c.Consumed)
	w.count(creditsQueries, c.Queries)
}
