package live

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/goroce/goroce/units"
)

// change is a configuration, with the lines that restore what it replaced.
type change struct{ config, undo string }

// step is a command on a switch. An empty command starts its shell, which reads input.
type step struct{ command, input string }

// confirmation is how a dialect takes a configuration on trial. The switch itself restores the
// previous configuration unless the trial is confirmed in time. A trial is not saved as the
// startup configuration, so that a restart of the switch ends it too.
type confirmation struct {
	// try returns the steps that enter a change for a limited time.
	try func(ctx context.Context, s shell, c change, limit units.Duration) ([]step, error)
	// confirm makes the change permanent.
	confirm []step
	// revert restores the previous configuration at once. Where a switch cannot end a trial early,
	// the undo is entered and confirmed.
	revert func(c change) []step
}

const (
	session = "bytetuning"        // name of EOS's session, and of Huawei's and SONiC's trials
	timer   = "bytetuning-revert" // systemd unit on SONiC
	job     = 4791                // of Onyx
)

// confirmations hold each vendor's own commands of a confirmed commit. SONiC and Onyx have none: a
// timer of SONiC's systemd loads a checkpoint, and a scheduled job of Onyx enters the undo. None
// was tested on a switch. Sources are the vendors' documents: EOS "Configure Session", NX-OS 10
// "Two-stage Configuration Commit", VRP 8 "commit trial", Comware 7 "configuration commit delay",
// "nv config apply --confirm", SONiC's generic config updater, and Onyx "Scheduled Jobs".
var confirmations = map[string]confirmation{
	"sonic": {
		try:     trySONiC,
		confirm: []step{{"sudo systemctl stop " + timer + ".timer", ""}},
		revert: func(change) []step {
			return []step{{"sudo config rollback " + session, ""},
				{"sudo systemctl stop " + timer + ".timer", ""}}
		},
	},
	"eos": {
		try: lines(func(c change, d units.Duration) []string {
			return []string{"enable", "configure session " + session, c.config,
				"commit timer " + clock(d), "exit"}
		}),
		confirm: input("enable", "configure session "+session+" commit", "exit"),
		revert: func(change) []step {
			return input("enable", "configure session "+session+" abort", "exit")
		},
	},
	"nxos": {
		try: lines(func(c change, d units.Duration) []string {
			return []string{"configure dual-stage", c.config,
				fmt.Sprint("commit confirmed ", seconds(d)), "end", "exit"}
		}),
		confirm: input("configure dual-stage", "commit", "end", "exit"),
		revert: func(c change) []step {
			return input("configure dual-stage", c.undo, "commit", "end", "exit")
		},
	},
	"huawei": {
		try: lines(func(c change, d units.Duration) []string {
			return []string{"system-view", without(c.config, "commit"),
				fmt.Sprintf("commit trial %d persist %s", seconds(d), session), "quit", "quit"}
		}),
		confirm: input("system-view", "commit persist "+session, "quit", "quit"),
		revert: func(change) []step {
			return input("system-view", "abort trial persist "+session, "quit", "quit")
		},
	},
	"h3c": {
		try: lines(func(c change, d units.Duration) []string {
			minutes := int64((d + units.Minute - 1) / units.Minute)
			return []string{"system-view", fmt.Sprint("configuration commit delay ", minutes),
				without(c.config, "system-view"), "return", "quit"}
		}),
		confirm: input("system-view", "configuration commit", "return", "quit"),
		revert: func(c change) []step {
			return input(c.undo, "configuration commit", "return", "quit")
		},
	},
	"nvue": {
		try: lines(func(c change, d units.Duration) []string {
			return []string{without(c.config, "nv config apply"),
				fmt.Sprintf("nv config apply --confirm %ds -y", seconds(d)), "exit"}
		}),
		confirm: input("nv config apply --confirm-yes", "exit"),
		revert:  func(change) []step { return input("nv config apply --confirm-no", "exit") },
	},
	"onyx": {
		try:     tryOnyx,
		confirm: input("enable", "configure terminal", fmt.Sprint("no job ", job), "exit", "exit"),
		revert: func(c change) []step {
			return input("enable", "configure terminal", c.undo, fmt.Sprint("no job ", job), "exit",
				"exit")
		},
	},
}

// lines returns a try that enters lines in the shell.
func lines(of func(change, units.Duration) []string) func(context.Context, shell, change,
	units.Duration) ([]step, error) {
	return func(_ context.Context, _ shell, c change, d units.Duration) ([]step, error) {
		return input(of(c, d)...), nil
	}
}

// input returns the step that enters texts, each of one or more lines, in the shell.
func input(texts ...string) []step {
	var b strings.Builder
	for _, t := range texts {
		b.WriteString(strings.TrimRight(t, "\n") + "\n")
	}
	return []step{{"", b.String()}}
}

// without returns a configuration without the lines that are equal to line.
func without(config, line string) string {
	var b strings.Builder
	for l := range strings.Lines(config) {
		if strings.TrimSpace(l) != line {
			b.WriteString(l)
		}
	}
	return b.String()
}

// seconds returns d in whole seconds, rounded up.
func seconds(d units.Duration) int64 { return int64((d + units.Second - 1) / units.Second) }

// clock returns d as hh:mm:ss.
func clock(d units.Duration) string {
	s := seconds(d)
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// trySONiC starts the timer before it changes anything.
func trySONiC(_ context.Context, _ shell, c change, d units.Duration) ([]step, error) {
	return []step{
		{"sudo config checkpoint " + session, ""},
		{fmt.Sprintf("sudo systemd-run --unit=%s --on-active=%ds config rollback %s", timer,
			seconds(d), session), ""},
		{procedures["sonic"].load, c.config},
	}, nil
}

// tryOnyx schedules the undo before it changes anything. A job has an absolute time, of the
// switch's own clock.
func tryOnyx(ctx context.Context, s shell, c change, d units.Duration) ([]step, error) {
	shown, err := s.Run(ctx, "show clock", nil)
	if err != nil {
		return nil, err
	}
	now, err := onyxClock(string(shown))
	if err != nil {
		return nil, err
	}
	at := now.Add(d.Std() + time.Second - 1)
	all := []string{"enable", "configure terminal", fmt.Sprint("job ", job), "exit"}
	n := 0
	for l := range strings.Lines(c.undo) {
		n++
		all = append(all, fmt.Sprintf("job %d command %d %q", job, n, strings.TrimSpace(l)))
	}
	all = append(all, fmt.Sprintf("job %d schedule type once", job),
		fmt.Sprintf("job %d schedule once time %s date %s", job, at.Format(time.TimeOnly),
			at.Format("2006/01/02")),
		fmt.Sprintf("job %d enable", job), c.config, "exit", "exit")
	return input(all...), nil
}

// onyxClock parses the output of Onyx's show clock: lines "Time: 10:20:30" and "Date: 2026/11/24".
func onyxClock(shown string) (time.Time, error) {
	field := map[string]string{}
	for l := range strings.Lines(shown) {
		name, value, _ := strings.Cut(l, ":")
		field[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	at, err := time.Parse("2006/01/02 15:04:05", field["Date"]+" "+field["Time"])
	if err != nil {
		return at, fmt.Errorf("live: show clock: want Time: hh:mm:ss and Date: yyyy/mm/dd: %w", err)
	}
	return at, nil
}

// try enters a change for a limited time.
func (s shell) try(ctx context.Context, c change, limit units.Duration) error {
	steps, err := confirmations[s.dialect].try(ctx, s, c, limit)
	if err != nil {
		return err
	}
	return s.perform(ctx, steps)
}

// confirm makes the change on trial permanent.
func (s shell) confirm(ctx context.Context) error {
	return s.perform(ctx, confirmations[s.dialect].confirm)
}

// revert ends a trial and restores the configuration before it.
func (s shell) revert(ctx context.Context, c change) error {
	return s.perform(ctx, confirmations[s.dialect].revert(c))
}

func (s shell) perform(ctx context.Context, steps []step) error {
	for _, x := range steps {
		if err := s.run(ctx, x.command, x.input); err != nil {
			return err
		}
	}
	return nil
}
