package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/goroce/goroce/test/interop/matrix"
)

// A page has places for the results of a run: between "<!-- NAME -->" and "<!-- /NAME -->".

var errNoPlace = errors.New("the file has no such place")

// place returns a page with a text inserted in the named place.
func place(page []byte, name, text string) ([]byte, error) {
	begin, end := fmt.Appendf(nil, "<!-- %s -->\n", name), fmt.Appendf(nil, "<!-- /%s -->", name)
	from := bytes.Index(page, begin)
	to := bytes.Index(page, end)
	if from < 0 || to < from {
		return nil, fmt.Errorf("%s: %w", name, errNoPlace)
	}
	return bytes.Join([][]byte{page[:from+len(begin)], []byte(strings.TrimSpace(text) + "\n"),
		page[to:]}, nil), nil
}

// write writes a text into a place of a file.
func write(file, name, text string) error {
	page, err := os.ReadFile(file)
	if err == nil {
		page, err = place(page, name, text)
	}
	if err == nil {
		err = os.WriteFile(file, page, 0o644)
	}
	if err != nil {
		return fmt.Errorf("-doc %s: %w", file, err)
	}
	return nil
}

// markdown returns a table whose first line is its heading.
func markdown(table [][]string) string {
	var b strings.Builder
	for i, line := range table {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(line)))
		}
	}
	return b.String()
}

// page writes the results of a complete run.
func (r *run) page(ctx context.Context, file string) error {
	order, by := r.scores()
	clean := [][]string{{"test", "service", "we are client", "we are server"}}
	impaired := [][]string{{"wire", "test", "we are client", "we are server", "our retransmissions",
		"rxe's recoveries"}}
	for _, g := range order {
		if g.control != matrix.Unconcerned {
			continue
		}
		passed := []string{by[g].of(matrix.Client), by[g].of(matrix.Server)}
		if g.impair == matrix.Clean {
			clean = append(clean, append([]string{g.name(), string(g.service)}, passed...))
			continue
		}
		var ours, theirs uint64
		for _, t := range r.trials {
			if groupOf(t.cell) == g {
				ours += t.totals.Retransmits
				theirs += t.rxe.Recoveries()
			}
		}
		counts := []string{fmt.Sprint(ours), fmt.Sprint(theirs)}
		if !g.test.Perftest() {
			counts[0] = "" // these programs do not print retransmissions
		}
		impaired = append(impaired,
			append(append([]string{string(g.impair), string(g.test)}, passed...), counts...))
	}
	control := [][]string{{"cell", "result"}}
	for _, t := range r.trials {
		if t.cell.Control != matrix.Unconcerned {
			verdict := t.remarks()
			if t.err != nil {
				verdict = "failed: " + firstLine(t.err.Error())
			}
			control = append(control, []string{t.cell.String(), verdict})
		}
	}
	bad := [][]string{{"peer", "our output"}}
	for _, e := range r.hostiles {
		verdict := strings.ReplaceAll(e.said, "|", "\\|")
		if e.err != nil {
			verdict = "failed: " + firstLine(e.err.Error())
		}
		bad = append(bad, []string{strings.TrimPrefix(e.name, "bad/"), verdict})
	}
	probes := [][]string{{"test", "our output"}}
	for _, x := range r.probings {
		verdict := x.said
		if x.err != nil {
			verdict = "failed: " + firstLine(x.err.Error())
		}
		probes = append(probes, []string{strings.TrimPrefix(x.name, "probe/"), verdict})
	}
	sum := fmt.Sprintf("%d cells in %v, %d failed. %s",
		len(r.trials)+len(r.hostiles)+len(r.probings),
		time.Since(r.begun).Round(time.Second), len(r.failed), r.lab.setting(ctx))
	return errors.Join(write(file, "matrix", sum+"\n\n"+markdown(clean)),
		write(file, "impaired", markdown(impaired)),
		write(file, "control", markdown(control)), write(file, "bad", markdown(bad)), write(file,
			"probes", markdown(probes)))
}

// setting returns machine and versions of a run.
func (l *lab) setting(ctx context.Context) string {
	ours := strings.TrimSpace(output(ctx, l.bin()+"/roce_write_bw", "-V"))
	_, ours, _ = strings.Cut(ours, ": ")
	host := strings.TrimSpace(output(ctx, "uname", "-sr"))
	packages, _ := l.peer.run(ctx, 10*time.Second, `awk '$1 == "Package:" { p = $2 } `+
		`$1 == "Version:" && (p == "perftest" || p == "rdma-core") { print p, $2 }' `+
		`/var/lib/dpkg/status; uname -sr`)
	return fmt.Sprintf("%s; on %d cores of %s, %s. Guest: %s, %s.", ours,
		runtime.NumCPU(), cpu(), host, strings.Join(strings.Split(strings.TrimSpace(packages),
			"\n"), ", "), l.accelerator())
}

// accelerator returns how a guest's processor is provided.
func (l *lab) accelerator() string {
	pid, _ := os.ReadFile(filepath.Join(l.root, ".cache/interop/run/a.pid"))
	line, _ := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "cmdline"))
	if bytes.Contains(line, []byte("-accel\x00kvm\x00")) {
		return "virtualised by KVM"
	}
	return "emulated by QEMU (TCG), no KVM"
}

func output(ctx context.Context, line ...string) string {
	out, err := exec.CommandContext(ctx, line[0], line[1:]...).Output()
	if err != nil {
		return "unknown"
	}
	return string(out)
}

func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for l := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "an unknown processor"
}
