package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// openMPI returns the cells of verbs/testdata/mpi.c with four ranks, over UCX. Debian's openib BTL
// is built without the RDMA CM, which it needs on RoCE.
func openMPI() (all []cell) {
	const ranks = 4
	for _, transport := range []string{"rc_v", "ud_verbs"} {
		for _, test := range []string{"ring", "bandwidth", "allreduce"} {
			all = append(all, cell{suite: "openmpi-bin", program: "mpirun", args: "--mca pml ucx",
				env:   []string{"UCX_TLS=" + transport + ",self", "UCX_NET_DEVICES=goroce0:1"},
				ranks: ranks, clientArgs: test, want: "ranks: right"})
		}
	}
	return all
}

// mpi runs the ranks of a cell, which are programs of one daemon, and returns why they failed.
func (r *runs) mpi(ctx context.Context, c *cell) string {
	program := filepath.Join(r.dir, "mpi")
	if _, err := os.Stat(program); err != nil {
		out, err := exec.CommandContext(ctx, "mpicc", "-O2", "-o", program,
			"verbs/testdata/mpi.c").CombinedOutput()
		if err != nil {
			return fmt.Sprintf("mpicc: %v: %s", err, lastLine(string(out)))
		}
	}
	socket := filepath.Join(r.dir, strconv.Itoa(r.count)+".sock")
	daemon := exec.CommandContext(ctx, filepath.Join(filepath.Dir(r.roceRun), "roced"), "-d",
		"loop:", "--socket", socket)
	if err := daemon.Start(); err != nil {
		return err.Error()
	}
	defer func() { _ = errors.Join(daemon.Process.Signal(os.Interrupt), daemon.Wait()) }()
	for range 200 {
		if _, err := os.Stat(socket); err == nil || ctx.Err() != nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	where := side{cell: c, flags: []string{"--daemon=" + socket},
		prefix: append([]string{"mpirun", "--allow-run-as-root", "--oversubscribe", "-n",
			strconv.Itoa(c.ranks)}, strings.Fields(c.args)...)}
	return explain("mpirun", r.start(ctx, where, program, []string{c.clientArgs}).wait(), c.want)
}
