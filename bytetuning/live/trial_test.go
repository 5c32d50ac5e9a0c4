package live

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/dialect"
	"github.com/goroce/goroce/bytetuning/intent"
	"github.com/goroce/goroce/units"
)

// language is how a simulated switch understands the commands of a trial.
type language struct {
	begin, confirm, abort, undo string // regular expressions; begin has the time as its groups
	minutes                     bool   // the time is in minutes
}

// languages follow the vendors' documents (trial.go), independently of confirmations.
var languages = map[string]language{
	"eos": {begin: `^commit timer (\d\d):(\d\d):(\d\d)$`,
		confirm: `^configure session bytetuning commit$`,
		abort:   `^configure session bytetuning abort$`},
	"nxos": {begin: `^commit confirmed (\d+)$`, confirm: `^commit$`,
		undo: `^no policy-map type queuing bytetuning_`},
	"huawei": {begin: `^commit trial (\d+) persist bytetuning$`,
		confirm: `^commit persist bytetuning$`, abort: `^abort trial persist bytetuning$`},
	"h3c": {begin: `^configuration commit delay (\d+)$`, minutes: true,
		confirm: `^configuration commit$`, undo: `^undo qos wred queue table bytetuning_`},
	"nvue": {begin: `^nv config apply --confirm (\d+)s -y$`,
		confirm: `^nv config apply --confirm-yes$`, abort: `^nv config apply --confirm-no$`},
}

// simulated is a switch whose state is the Kmax in effect, 0 in the original configuration.
type simulated struct {
	d            *dialect.Dialect
	chip         intent.Chip
	now          time.Time
	kmax, before units.Bytes
	end          time.Time // of the trial; zero: none
	job          []string  // of Onyx
	unreachable  bool
}

// elapse advances the switch's clock.
func (s *simulated) elapse(d time.Duration) {
	s.now = s.now.Add(d)
	if !s.end.IsZero() && !s.now.Before(s.end) {
		s.kmax, s.end = s.before, time.Time{}
	}
}

// say executes a command or a shell's input.
func (s *simulated) say(command, input string) (string, uint32) {
	switch {
	case command == procedures[s.d.Name].save && s.d.Name == "sonic":
		return `{"OLD": {}}`, 0
	case command == procedures[s.d.Name].save:
		return "original configuration\n", 0
	case s.d.Name == "sonic":
		return s.sonic(command, input)
	case s.d.Name == "onyx":
		return s.onyx(command, input)
	}
	l := languages[s.d.Name]
	start := s.kmax
	var limit time.Duration
	var entered []string
	for line := range strings.Lines(input) {
		line = strings.TrimRight(line, "\n")
		switch {
		case matches(l.begin, line):
			limit = l.time(line)
			if !s.end.IsZero() {
				return "% Invalid: a trial is pending\n", 0
			}
		case matches(l.confirm, line):
			s.enter(entered, l.undo)
			s.end = time.Time{}
		case matches(l.abort, line):
			if s.end.IsZero() {
				return "Error: no trial\n", 0
			}
			s.kmax, s.end = s.before, time.Time{}
		default:
			entered = append(entered, line)
		}
	}
	if limit > 0 {
		s.enter(entered, l.undo)
		s.before, s.end = start, s.now.Add(limit)
	}
	return "", 0
}

func matches(pattern, line string) bool {
	return pattern != "" && regexp.MustCompile(pattern).MatchString(line)
}

func (l *language) time(line string) (d time.Duration) {
	for _, group := range regexp.MustCompile(l.begin).FindStringSubmatch(line)[1:] {
		n, _ := strconv.Atoi(group)
		d = 60*d + time.Duration(n)*time.Second
	}
	if l.minutes {
		d *= 60
	}
	return d
}

// enter takes lines of configuration.
func (s *simulated) enter(lines []string, undo string) {
	for _, line := range lines {
		if matches(undo, line) {
			s.kmax = 0
		}
	}
	text := strings.Join(lines, "\n")
	if found, err := s.d.Parse([]byte(text), s.chip); err == nil && len(found) == 1 {
		s.kmax = found[0].Kmax
	}
}

func (s *simulated) sonic(command, input string) (string, uint32) {
	var seconds int
	switch {
	case command == "sudo config checkpoint bytetuning":
		s.before = s.kmax
	case strings.HasPrefix(command, "sudo systemd-run"):
		_, err := fmt.Sscanf(command, "sudo systemd-run --unit=bytetuning-revert "+
			"--on-active=%ds config rollback bytetuning", &seconds)
		if err != nil || !s.end.IsZero() {
			return "Failed to start transient timer unit: already loaded\n", 1
		}
		s.end = s.now.Add(time.Duration(seconds) * time.Second)
	case command == "sudo config load -y /dev/stdin":
		s.enter([]string{input}, "")
	case command == "sudo config rollback bytetuning":
		s.kmax = s.before
	case command == "sudo systemctl stop bytetuning-revert.timer":
		s.end = time.Time{}
	default:
		return "command not found\n", 127
	}
	return "", 0
}

func (s *simulated) onyx(command, input string) (string, uint32) {
	if command == "show clock" {
		return s.now.UTC().Format("Time: 15:04:05\nDate: 2006/01/02\nTime zone: UTC\n"), 0
	}
	start := s.kmax
	var entered []string
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "job 4791 schedule once time "); ok {
			at, err := time.Parse("15:04:05 date 2006/01/02", text)
			if err != nil {
				return "% Invalid time\n", 0
			}
			s.end, s.before = at, start
		} else if line == "no job 4791" {
			s.end = time.Time{}
		} else if m := regexp.MustCompile(`^job 4791 command \d+ "(.*)"$`).FindStringSubmatch(
			line); m != nil {
			s.job = append(s.job, m[1])
		} else {
			entered = append(entered, line)
		}
	}
	s.enter(entered, `^no interface ethernet \S+ ingress-buffer`)
	return "", 0
}

// trialNetwork returns a network of one simulated switch of a dialect.
func trialNetwork(t *testing.T, name string) (*Network, *simulated) {
	b := newBox(t)
	n := network(t, b)
	n.Fleet.Switches = n.Fleet.Switches[1:]
	sw := n.Fleet.Switches[0]
	d, err := dialect.Lookup(name)
	require.NoError(t, err)
	sw.Dialect, sw.Interfaces = d, []string{"swp1"}
	s := &simulated{d: d, chip: sw.Chip, now: time.Now().Truncate(time.Second)}
	b.say = s.say
	n.now = func() time.Time { return s.now }
	dial := n.dial
	n.dial = func(ctx context.Context, c SSH) (Console, error) {
		if s.unreachable {
			return nil, errors.New("no route to host")
		}
		return dial(ctx, c)
	}
	return n, s
}

var other = bytetuning.Point{{Kmin: 250 * units.KiB, Kmax: 600 * units.KiB, Pmax: 20,
	Headroom: 75 * units.KiB, Alpha: -3}}

// TestTrials checks in each dialect that a switch goes back when the tuner or the network dies, and
// keeps only what was confirmed.
func TestTrials(t *testing.T) {
	for _, name := range dialect.Names() {
		t.Run(name, func(t *testing.T) {
			n, s := trialNetwork(t, name)
			ctx := t.Context()
			apply := func(p bytetuning.Point) {
				t.Helper()
				require.NoError(t, n.Apply(ctx, p))
				require.InDelta(t, float64(p[0].Kmax), float64(s.kmax), 1000,
					"in units of the switch")
			}
			limit := n.Fleet.Confirm.Std()

			apply(good)
			s.elapse(limit - time.Second)
			assert.NotZero(t, s.kmax, "during the trial")
			s.elapse(time.Minute) // Comware counts in minutes
			assert.Zero(t, s.kmax, "the tuner died")

			apply(good)
			apply(other)
			s.elapse(limit + time.Minute)
			assert.Zero(t, s.kmax, "the tuner died at its second point")

			apply(good)
			require.NoError(t, n.Revert(ctx))
			assert.Zero(t, s.kmax)
			require.NoError(t, n.Revert(ctx), "nothing is on trial")

			apply(good)
			s.unreachable = true
			assert.ErrorContains(t, n.Revert(ctx), "it goes back by itself in 2m")
			assert.ErrorContains(t, n.Confirm(ctx), "not confirmed: no route")
			s.elapse(limit + time.Minute)
			assert.Zero(t, s.kmax, "the network died")
			s.unreachable = false
			assert.ErrorContains(t, n.Confirm(ctx), "is over, and the switch has gone back")

			apply(other)
			require.NoError(t, n.Confirm(ctx))
			s.elapse(24 * time.Hour)
			assert.NotZero(t, s.kmax, "confirmed")
			require.NoError(t, n.Confirm(ctx), "nothing is on trial")
		})
	}
}

// TestOnyxJob checks that the job enters the undo.
func TestOnyxJob(t *testing.T) {
	n, s := trialNetwork(t, "onyx")
	require.NoError(t, n.Apply(t.Context(), good))
	assert.Contains(t, s.job, "no interface ethernet swp1 traffic-class 3 congestion-control")
	_, err := onyxClock("Time: noon\n")
	assert.ErrorContains(t, err, "want Time: hh:mm:ss")
}
