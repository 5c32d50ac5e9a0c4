package perftest

import (
	"fmt"
	"strings"

	"github.com/goroce/goroce/internal/cli"
)

// foreignFlag is a flag of perftest that has no effect here, or that no port of goroce supports. It
// exists so that scripts need no changes, or learn the reason.
type foreignFlag struct {
	name, short string
	argument    string   // its name in --help; empty: none
	accepts     []string // values that have no effect; others are refused. Empty: all, or none
	refused     bool
	silent      bool // without a note: most scripts give it
	why         string
}

// foreignFlags are listed in docs/perftest.md, with the flags that are supported.
var foreignFlags = []foreignFlag{
	// What the port and the protocol determine.
	{name: "ib-port", short: "i", argument: "port", accepts: []string{"1"},
		why: "the URL of --ib-dev names one port, which is port 1"},
	{name: "sl", short: "S", argument: "level",
		why: "RoCEv2 frames carry no service level: switches classify by --tclass"},
	{name: "pkey_index", argument: "index", accepts: []string{"0"},
		why: "the table has the default partition alone"},
	{name: "force-link", argument: "type", accepts: []string{"Ethernet", "ETHERNET", "ethernet"},
		why: "RoCE runs over Ethernet"},
	{name: "report-per-port",
		why: "a run has one port, so the report is per port"},
	{name: "dualport", short: "O", refused: true,
		why: "a run has one port; start one program for each"},
	{name: "dlid", argument: "lid", refused: true,
		why: "local identifiers are InfiniBand's; RoCE has addresses (--ip)"},
	{name: "dont_xchg_versions", refused: true,
		why: "the ends recognise each other by the version"},
	{name: "source_ip", argument: "address", refused: true,
		why: "the kernel's routing table selects the TCP source address of the handshake"},
	{name: "connection XRC, DC or SRD", refused: true,
		why: "the services are RC, UC and UD (--connection)"},

	{name: "perform_warm_up",
		why: "roce_*_lat starts with 16 rounds that are not measured; a SEND's receiver would " +
			"count the messages"},
	{name: "report-unsorted", short: "U",
		why: "a bandwidth test keeps no single samples; roce_*_lat prints them"},

	// Details of an adapter's driver.
	{name: "vector", short: "X", argument: "vector",
		why: "completions come from the polling core, without interrupts"},
	{name: "inline_recv", argument: "bytes",
		why: "a message goes to its receive's memory at once"},
	{name: "recv_post_list", argument: "receives",
		why: "posting a receive writes memory of the process and rings no doorbell"},
	{name: "use_old_post_send", why: "there is one way to post"},
	{name: "disable_pcie_relaxed", why: "the port's driver determines the order on PCIe"},
	{name: "mr_per_qp", why: "the length of the list of regions does not affect a lookup"},
	{name: "typical_pkt_size", argument: "bytes", why: "pacing knows the size of each packet"},
	{name: "wait_destroy", argument: "seconds",
		why: "resources are memory of the process, which its end frees"},
	{name: "CPU-freq", short: "F", silent: true,
		why: "no warning depends on the processor's frequency"},

	// What goroce does not have.
	{name: "report-counters", short: "W", argument: "names", refused: true,
		why: "the summary and --out_json have all counters"},
	{name: "report-cycles", short: "C", refused: true,
		why: "times are in microseconds"},
	{name: "report-both", refused: true,
		why: "--out_json has the rates of both directions by queue pair (per_qp)"},
	{name: "reversed", refused: true,
		why: "exchange the roles: start the sender with the server's address"},
	{name: "latency_gap", argument: "microseconds", refused: true,
		why: "rounds follow each other at once; roce_*_bw with --rate_limit spaces messages"},
	{name: "mcg", short: "g", refused: true, why: "multicast is not supported"},
	{name: "MGID", short: "M", argument: "group", refused: true,
		why: "multicast is not supported"},
	{name: "odp", refused: true, why: "registered memory is the process's own and stays mapped"},
	{name: "mmap", argument: "file", refused: true,
		why: "messages lie in the process's memory, as there is no peer on the PCIe bus"},
	{name: "mmap-offset", argument: "bytes", refused: true,
		why: "messages lie in the process's memory, as there is no peer on the PCIe bus"},
	{name: "use_cuda", argument: "gpu", refused: true, why: "no port can access a GPU's memory"},
	{name: "use_cuda_dmabuf", refused: true, why: "no port can access a GPU's memory"},
	{name: "use_rocm", argument: "gpu", refused: true, why: "no port can access a GPU's memory"},
	{name: "log_dci_streams", argument: "count", refused: true,
		why: "dynamically connected transport is a vendor's"},
	{name: "log_active_dci_streams", argument: "count", refused: true,
		why: "dynamically connected transport is a vendor's"},
	{name: "aes_xts", refused: true, why: encryption},
	{name: "encrypt_on_tx", refused: true, why: encryption},
	{name: "sig_before", refused: true, why: encryption},
	{name: "aes_block_size", argument: "bytes", refused: true, why: encryption},
	{name: "data_enc_keys_number", argument: "count", refused: true, why: encryption},
	{name: "kek_path", argument: "file", refused: true, why: encryption},
	{name: "credentials_path", argument: "file", refused: true, why: encryption},
	{name: "data_enc_key_app_path", argument: "file", refused: true, why: encryption},
}

const encryption = "no port encrypts payloads"

// foreignValue is the value of a foreignFlag.
type foreignValue struct {
	*foreignFlag
	notes *[]string // of the flags without effect
	errs  *[]string // of those that are refused
}

// Set reports the flag.
func (v foreignValue) Set(text string) error {
	accepted := !v.refused && len(v.accepts) == 0
	for _, a := range v.accepts {
		accepted = accepted || a == text
	}
	switch {
	case accepted && v.silent:
	case accepted && len(v.accepts) == 0:
		*v.notes = append(*v.notes, fmt.Sprintf("--%s has no effect: %s", v.name, v.why))
	case accepted:
	case len(v.accepts) > 0:
		*v.errs = append(*v.errs, fmt.Sprintf("--%s %s: want %s: %s", v.name, text, v.accepts[0],
			v.why))
	default:
		*v.errs = append(*v.errs, fmt.Sprintf("--%s: not supported: %s", v.name, v.why))
	}
	return nil
}

func (v foreignValue) String() string { return "" }

// Type returns the argument's name.
func (v foreignValue) Type() string { return v.argument }

// IsBoolFlag reports whether the flag has no argument.
func (v foreignValue) IsBoolFlag() bool { return v.argument == "" }

// foreign returns the flags that are not in the given groups.
func (x *extras) foreign(groups []cli.Group) []cli.Flag {
	known := map[string]bool{}
	for _, g := range groups {
		for _, f := range g.Flags {
			known[f.Short] = known[f.Short] || !f.Absent && f.Short != ""
			known["--"+f.Name] = known["--"+f.Name] || !f.Absent
		}
	}
	var flags []cli.Flag
	for i := range foreignFlags {
		f := &foreignFlags[i]
		if strings.Contains(f.name, " ") || known[f.short] || known["--"+f.name] {
			continue
		}
		flags = append(flags, cli.Flag{Name: f.name, Short: f.short, Hidden: true,
			Value: foreignValue{f, &x.notes, &x.refused}})
	}
	return flags
}
