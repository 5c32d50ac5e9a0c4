package tocc

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// options is a point of the design space: Table I of ToCC, and the values behind its check marks.
type options struct {
	// Unscheduled phase (P1).
	unsch units.Bytes
	drop  bool
	rts   bool
	// Token generation (P2).
	generation string
	k          units.Bytes
	// Rate limiter (P3).
	limiter, pace bool
	// Total volume control (P4).
	volume bool
	// Token CC (P5).
	cc        string
	window    units.Bytes
	maxWindow units.Bytes
	echo      string
	cnp       units.Duration
	// Tokens that are not used in time.
	age      units.Duration
	realtime bool
	// Priorities.
	priority            int
	tokenDSCP, dataDSCP int
	overcommit          int
	cutoffs             string
	// ExpressPass.
	feedback                         string
	initial, wInit, wMin, wMax, loss float64
	jitter                           float64
	queue                            int
}

// declare declares the parameters, with the defaults of a scheme where they differ from ToCC's.
func (o *options) declare(s *cc.Settings, scheme preset) {
	param := func(into any, name, def, valid, source, text string) {
		if own, ok := scheme[name]; ok {
			def = own
		}
		s.Param(into, name, def, valid, source, text)
	}
	param(&o.unsch, "unsch", "1BDP", "[0B, 1BDP]", "ToCC V-A",
		"payload that is sent without a token when a burst begins; 0: none")
	param(&o.drop, "drop", "off", "", "Aeolus", "unscheduled packets are not ECN capable, so "+
		"that switches drop them beyond a threshold; an RTS behind the last reports what was sent")
	param(&o.rts, "rts", "on", "", "ToCC V-B",
		"report the demand by RTSs; off: for comparison only")
	param(&o.generation, "generation", "data", "data, rate", "ToCC IV-B",
		"what generates tokens: arriving data, or a rate")
	param(&o.k, "k", "4096B", "[1B, 1MiB]", "ToCC V-D: 2 to 8 KB",
		"payload that a token releases, K; at least a packet")
	param(&o.limiter, "limiter", "on", "", "ToCC IV-C",
		"switches limit tokens to token/(token+data) of a link")
	param(&o.pace, "pace", "on", "", "ToCC IV-C, NDP",
		"an endpoint spaces its TOKENs by the data that they release")
	param(&o.volume, "volume", "on", "", "ToCC IV-D",
		"total volume control: grant no more than is needed")
	param(&o.cc, "cc", "dcqcn", "", "ToCC V-B", "token CC: none, an algorithm with its "+
		"parameters, or feedback (ExpressPass); comes last if it has parameters")
	param(&o.window, "window", "1BDP", "(0B, inf)", "ToCC V-B",
		"bytes on the wire that tokens in flight may release, initially and without token CC")
	s.OnGuess("window", fmt.Sprintf("%dBDP", guessedBDP))
	param(&o.maxWindow, "most", "16BDP", "(0B, inf)", "OURS",
		"largest window, and the most tokens that a sender accepts")
	param(&o.echo, "echo", "data", "data, cnp", "ToCC V-B; cnp: appendix A",
		"how marks of tokens are echoed: on data, or by packets of their own")
	param(&o.cnp, "cnp_interval", "50us", "(0s, 1s]", "DCQCN: N",
		"least time between two CNP events of token CC, and between two packets of echo=cnp")
	param(&o.age, "age", "200us", "[0s, 1s]", "ToCC V-D",
		"tokens older than this are discarded; 0: none are")
	param(&o.realtime, "realtime", "on", "", "ToCC V-D",
		"tokens beyond one real-time BDP are discarded, unless the line rate is a guess")
	param(&o.priority, "priority", "0", "[0, 7]", "ToCC VII",
		"priority of tokens that wait at the receiver for their time; larger is higher")
	param(&o.tokenDSCP, "token_dscp", "44", "[0, 63]", "OURS", "DSCP of TOKENs")
	param(&o.dataDSCP, "dscp", "0", "[0, 63]", "OURS",
		"DSCP of data, where the scheme must set it (drop, overcommit)")
	param(&o.overcommit, "overcommit", "0", "[0, 7]", "Homa", "messages of an endpoint that are "+
		"granted at once, the shortest first, each with a priority of its own; 0: all")
	param(&o.cutoffs, "cutoffs", "", "", "Homa",
		"message sizes that separate the unscheduled priorities, ascending, such as 1KB/10KB")
	param(&o.feedback, "feedback", "xpass", "xpass, paper", "ExpressPass; xpass: its ns-2 model",
		"rule of cc=feedback")
	param(&o.initial, "alpha", "0.5", "(0, 1]", "ExpressPass",
		"initial rate of credits, as a fraction of the largest")
	param(&o.wInit, "w_init", "0.5", "(0, 1]", "ExpressPass model; 0.0625: its fat tree",
		"initial aggressiveness of feedback")
	param(&o.wMin, "w_min", "0.01", "(0, 1]", "ExpressPass", "least aggressiveness")
	param(&o.wMax, "w_max", "0.5", "(0, 1]", "ExpressPass", "largest aggressiveness")
	param(&o.loss, "target_loss", "0.125", "(0, 1)", "ExpressPass model; paper: 0.1",
		"fraction of credits that may be lost")
	param(&o.jitter, "jitter", "0.1", "[0, 1)", "ExpressPass model",
		"deviation of the time between credits, to either side, as a fraction")
	param(&o.queue, "queue", "8", "[1, 16]", "ExpressPass",
		"length of an endpoint's queue of credits, which drops those beyond it")
}

// check returns an error for parameters that exclude each other.
func (o *options) check() error {
	rate := o.generation == "rate"
	switch {
	case rate && o.volume:
		return errors.New("generation=rate and volume=on: with rate-based generation it cannot " +
			"be predicted which tokens win the network's bandwidth, so their total volume cannot " +
			"be " +
			"controlled (ToCC IV-D)")
	case rate && !o.limiter:
		return errors.New("generation=rate and limiter=off: rate-based generation makes more " +
			"tokens than can be used, and needs limiters and small token queues in the network " +
			"that drop them (ToCC IV-B)")
	case rate && o.cc != "none" && o.cc != "feedback":
		return fmt.Errorf("generation=rate and cc=%s: want feedback, which adapts the "+
			"rate of credits to their loss, or none (ToCC IV-F)", o.cc)
	case rate && !o.rts:
		return errors.New(
			"generation=rate and rts=off: credits begin when a sender requests them (ExpressPass)")
	case rate && o.overcommit > 0:
		return errors.New("generation=rate and overcommit: Homa grants the shortest message " +
			"in response to data")
	case !rate && o.cc == "feedback":
		return errors.New("generation=data and cc=feedback: data-driven tokens queue and are not " +
			"lost, so feedback on loss has no input (ToCC IV-F)")
	case o.drop && o.unsch == 0:
		return errors.New("drop=on and unsch=0: only unscheduled packets are dropped actively; " +
			"want unsch of more than 0 (ToCC IV-A)")
	case o.overcommit > 0 && !o.volume:
		return errors.New("overcommit and volume=off: the shortest message is the one with the " +
			"least left to grant (ToCC IV-D)")
	case o.wMin > o.wMax || o.wInit > o.wMax || o.wInit < o.wMin:
		return fmt.Errorf("w_min=%g, w_init=%g, w_max=%g: want w_min <= w_init <= w_max", o.wMin,
			o.wInit, o.wMax)
	}
	return nil
}

// checkPath checks what depends on the path, and rounds unsch to whole packets, so that demand can
// be derived from it. A BDP of less than a packet counts as one packet.
func (o *options) checkPath(path *cc.Path) error {
	if bdp := path.BDP(); o.unsch > 0 && o.unsch >= bdp {
		o.unsch = max(bdp, path.Payload)
	}
	whole := o.unsch - o.unsch%path.Payload
	switch {
	case o.k < path.Payload:
		return fmt.Errorf(
			"k=%d is less than the %d bytes of a packet, which a token must release", o.k,
			path.Payload)
	case o.unsch > 0 && o.unsch < path.Payload:
		return fmt.Errorf("unsch=%d is less than the %d bytes of a packet: no packet fits; want "+
			"0, or a packet or more", o.unsch, path.Payload)
	case o.maxWindow < o.window:
		return fmt.Errorf("most=%d is less than window=%d", o.maxWindow, o.window)
	}
	o.unsch = whole
	return nil
}
