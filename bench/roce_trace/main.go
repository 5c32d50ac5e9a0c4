// Command roce_trace analyses event logs and captures of RoCEv2: what each queue pair did, and why
// it was slow, as text and as a page. See docs/trace.md.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/trace/analysis"
	"github.com/goroce/goroce/trace/capture"
	"github.com/goroce/goroce/trace/page"
	"github.com/goroce/goroce/trace/sqlog"
)

func main() {
	os.Exit(cli.Run(cli.Interruptible(), command(), os.Stdout, os.Stderr, os.Args[1:]...))
}

func command() *cobra.Command {
	var out string
	var quiet bool
	c := &cobra.Command{
		Use:   "roce_trace FILE",
		Short: "Analyse an event log (--trace of the roce_ programs) or a pcap or pcapng capture",
		Long: "Prints a table of the queue pairs of an event log or a capture of RoCEv2, and " +
			"writes a page with\ncharts: what was sent, lost and sent again, round trips, " +
			"windows, rates, marks, and what\nkept each sender from sending. See docs/trace.md.",
		Example: "  roce_write_bw -d loop: -D 5 --trace t.sqlog --trace-sample 1%\n" +
			"  roce_trace t.sqlog -o t.html\n" +
			"  tcpdump -i eth0 -w t.pcap udp port 4791\n  roce_trace t.pcap -o t.html",
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return run(args[0], out, c.OutOrStdout(), progressTo(c.ErrOrStderr(), quiet))
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "write the page to this `file`")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "no progress on standard error")
	return c
}

// run analyses a file. If the file breaks a rule, the report of what came before is written, too.
func run(name, out string, text io.Writer, show func(part float64)) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	report, broken := analyse(file, name, show)
	show(1)
	if report == nil {
		return fmt.Errorf("%s: %w", name, broken)
	}
	report.Sort()
	if broken != nil {
		broken = fmt.Errorf("%s: %w", name, broken)
		report.Note("The file is not read to its end: " + broken.Error())
	}
	if err := report.WriteText(text); err != nil {
		return errors.Join(broken, err)
	}
	if out != "" {
		err = save(out, report)
	}
	return errors.Join(broken, err)
}

// analyse returns the report of a file, with an error if it is not complete; nil if nothing of the
// file could be read.
func analyse(file *os.File, name string, show func(float64)) (*analysis.Report, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	progress := func(offset int64) {
		if size := info.Size(); size > 0 { // not of a pipe
			show(float64(offset) / float64(size))
		}
	}
	in := bufio.NewReaderSize(file, 1<<20)
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var r *analysis.Report
	switch {
	case sqlog.Is(head):
		r = analysis.New(name, analysis.EventLog)
		err = r.Log(in, progress)
	case capture.Is(head):
		r = analysis.New(name, analysis.Capture)
		err = capture.Read(in, r, progress)
	default:
		return nil, fmt.Errorf("byte 0: %q begins neither an event log (0x1e 0x7b) nor a capture "+
			"(pcap's or pcapng's magic number)", head)
	}
	if err != nil && r.Items == 0 {
		return nil, err
	}
	return r, err
}

// save writes the page.
func save(name string, r *analysis.Report) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	err = page.Write(w, r)
	return errors.Join(err, w.Flush(), file.Close())
}

// progressTo returns a function that shows the part of the work that is done: as a line that
// changes on a terminal, and otherwise as a line for each tenth.
func progressTo(w io.Writer, quiet bool) func(part float64) {
	shown := 0
	file, isFile := w.(*os.File)
	isTerminal := isFile && term.IsTerminal(int(file.Fd()))
	return func(part float64) {
		percent := int(part * 100)
		switch {
		case quiet || percent == shown || shown == 0 && part >= 1: // a short file needs none
		case isTerminal:
			fmt.Fprintf(w, "\r%3d%% %-50s%s", percent, strings.Repeat("#", percent/2),
				map[bool]string{true: "\n"}[part >= 1])
			shown = percent
		case percent/10 != shown/10:
			fmt.Fprintf(w, "roce_trace: %d%%\n", percent/10*10)
			shown = percent
		}
	}
}
