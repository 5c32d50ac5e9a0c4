package tocc

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// options is a point of the design space: Table I of ToCC, and the values behind its marks.
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
	cc     string
	window units.Bytes
	most   units.Bytes
	echo   string
	cnp    units.Duration
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

// declare names the parameters; a scheme brings other defaults than ToCC's.
func (o *options) declare(s *cc.Settings, scheme preset) {
	param := func(into any, name, def, valid, source, text string) {
		if own, ok := scheme[name]; ok {
			def = own
		}
		s.Param(into, name, def, valid, source, text)
	}
	param(&o.unsch, "unsch", "1BDP", "[0B, 1BDP]", "ToCC V-A",
		"payload that leaves without a token when a burst begins; 0: none")
	param(&o.drop, "drop", "off", "", "Aeolus", "unscheduled packets are not ECN capable, so "+
		"that switches drop them beyond a threshold; an RTS behind the last says what was sent")
	param(&o.rts, "rts", "on", "", "ToCC V-B",
		"say by RTS what waits; off: show what happens without")
	param(&o.generation, "generation", "data", "data, rate", "ToCC IV-B",
		"what brings a token: data that comes, or a rate")
	param(&o.k, "k", "4096B", "[1B, 1MiB]", "ToCC V-D: 2 to 8 KB",
		"payload that a token releases, K; at least a packet")
	param(&o.limiter, "limiter", "on", "", "ToCC IV-C",
		"switches limit tokens to token/(token+data) of a link")
	param(&o.pace, "pace", "on", "", "ToCC IV-C, NDP",
		"an endpoint spaces its TOKENs by what they release")
	param(&o.volume, "volume", "on", "", "ToCC IV-D",
		"total volume control: grant what is needed and no more")
	param(&o.cc, "cc", "dcqcn", "", "ToCC V-B", "token CC: none, an algorithm with its "+
		"parameters, or feedback (ExpressPass's); comes last where it has parameters")
	param(&o.window, "window", "1BDP", "(0B, inf)", "ToCC V-B",
		"wire bytes that tokens under way may release, without token CC and at first")
	s.OnGuess("window", fmt.Sprintf("%dBDP", guessedBDP))
	param(&o.most, "most", "16BDP", "(0B, inf)", "OURS",
		"largest window, and what a sender takes at most")
	param(&o.echo, "echo", "data", "data, cnp", "ToCC V-B; cnp: appendix A",
		"how marks of tokens come back: on data, or by packets of their own")
	param(&o.cnp, "cnp_interval", "50us", "(0s, 1s]", "DCQCN: N",
		"least time between two CNP events of token CC, and between two packets of echo=cnp")
	param(&o.age, "age", "200us", "[0s, 1s]", "ToCC V-D",
		"tokens older than this are discarded; 0: none are")
	param(&o.realtime, "realtime", "on", "", "ToCC V-D",
		"tokens beyond one real-time BDP are discarded, where the line rate is no guess")
	param(&o.priority, "priority", "0", "[0, 7]", "ToCC VII",
		"of tokens that wait at the receiver for their time; larger is higher")
	param(&o.tokenDSCP, "token_dscp", "44", "[0, 63]", "OURS", "DSCP of TOKENs")
	param(&o.dataDSCP, "dscp", "0", "[0, 63]", "OURS",
		"DSCP of data, where the scheme must set it (drop, overcommit)")
	param(&o.overcommit, "overcommit", "0", "[0, 7]", "Homa", "messages of an endpoint that are "+
		"granted at once, the shortest first, each with a priority of its own; 0: all")
	param(&o.cutoffs, "cutoffs", "", "", "Homa",
		"message sizes that part the unscheduled priorities, ascending, such as 1KB/10KB")
	param(&o.feedback, "feedback", "xpass", "xpass, paper", "ExpressPass; xpass: its ns-2 model",
		"rule of cc=feedback")
	param(&o.initial, "alpha", "0.5", "(0, 1]", "ExpressPass",
		"first rate of credits, of the largest")
	param(&o.wInit, "w_init", "0.5", "(0, 1]", "ExpressPass model; 0.0625: its fat tree",
		"first aggressiveness of feedback")
	param(&o.wMin, "w_min", "0.01", "(0, 1]", "ExpressPass", "least of it")
	param(&o.wMax, "w_max", "0.5", "(0, 1]", "ExpressPass", "largest of it")
	param(&o.loss, "target_loss", "0.125", "(0, 1)", "ExpressPass model; paper: 0.1",
		"share of credits that may be lost")
	param(&o.jitter, "jitter", "0.1", "[0, 1)", "ExpressPass model",
		"of the time between credits, to either side")
	param(&o.queue, "queue", "8", "[1, 16]", "ExpressPass",
		"credits that wait at an endpoint before they are dropped")
}

// check refuses what does not go together.
func (o *options) check() error {
	rate := o.generation == "rate"
	switch {
	case rate && o.volume:
		return errors.New("generation=rate and volume=on: with rate-based generation nobody can " +
			"predict which tokens win the network's bandwidth, so their total volume cannot be " +
			"controlled (ToCC IV-D)")
	case rate && !o.limiter:
		return errors.New("generation=rate and limiter=off: rate-based generation makes more " +
			"tokens than can be used, and needs limiters and small token queues in the network " +
			"that drop them (ToCC IV-B)")
	case rate && o.cc != "none" && o.cc != "feedback":
		return fmt.Errorf("generation=rate and cc=%s: what adapts the rate of credits is "+
			"feedback on their loss, or none (ToCC IV-F)", o.cc)
	case rate && !o.rts:
		return errors.New(
			"generation=rate and rts=off: credits begin when a sender requests them (ExpressPass)")
	case rate && o.overcommit > 0:
		return errors.New("generation=rate and overcommit: the shortest message is granted in " +
			"answer to data (Homa)")
	case !rate && o.cc == "feedback":
		return errors.New("generation=data and cc=feedback: data-driven tokens queue and are not " +
			"lost, so there is no loss to learn from (ToCC IV-F)")
	case o.drop && o.unsch == 0:
		return errors.New("drop=on and unsch=0: only unscheduled packets are dropped actively, " +
			"and there are none (ToCC IV-A)")
	case o.overcommit > 0 && !o.volume:
		return errors.New("overcommit and volume=off: who is shortest is told by what is left to " +
			"be granted (ToCC IV-D)")
	case o.wMin > o.wMax || o.wInit > o.wMax || o.wInit < o.wMin:
		return fmt.Errorf("w_min=%g, w_init=%g, w_max=%g are not in order", o.wMin, o.wInit, o.wMax)
	}
	return nil
}

// onPath checks what only a path tells. What is unscheduled is whole packets, so that
// demand can be told from it; a BDP of less than one is one.
func (o *options) onPath(path *cc.Path) error {
	if bdp := path.BDP(); o.unsch > 0 && o.unsch >= bdp {
		o.unsch = max(bdp, path.Payload)
	}
	whole := o.unsch - o.unsch%path.Payload
	switch {
	case o.k < path.Payload:
		return fmt.Errorf(
			"k=%d is less than the %d bytes of a packet: a token must let a packet go", o.k,
			path.Payload)
	case o.unsch > 0 && o.unsch < path.Payload:
		return fmt.Errorf("unsch=%d is less than the %d bytes of a packet: none could go without "+
			"a token; say unsch=0, or 1BDP", o.unsch, path.Payload)
	case o.most < o.window:
		return fmt.Errorf("most=%d is less than window=%d", o.most, o.window)
	}
	o.unsch = whole
	return nil
}
