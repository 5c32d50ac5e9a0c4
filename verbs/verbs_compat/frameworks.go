package main

// qperf returns the cells of qperf, and two of its tests of UC and UD.
func qperf() (all []cell) {
	for _, test := range []string{"rc_bw", "rc_bi_bw", "rc_lat", "rc_rdma_read_bw",
		"rc_rdma_read_lat", "rc_rdma_write_bw", "rc_rdma_write_lat", "rc_rdma_write_poll_lat",
		"rc_compare_swap_mr", "rc_fetch_add_mr", "ver_rc_compare_swap", "ver_rc_fetch_add"} {
		all = append(all, cell{suite: "qperf", program: "qperf", pair: true, cm: true,
			endless: true, clientArgs: "-t 1 -cm1 " + serverAddress + " " + test,
			want: test + `:\n +\w+ += +[\d.]*[1-9]`})
	}
	for _, test := range []string{"uc_bw", "ud_bw"} {
		all = append(all, cell{suite: "qperf", program: "qperf", endless: true,
			clientArgs: "-t 1 localhost " + test, want: test + `:\n +\w+ += +[\d.]*[1-9]`,
			because: "qperf has a LID for the peer's address, which RoCE does not have; " +
				"its -cm1 is for RC"})
	}
	return all
}

// libfabric returns the cells of fi_pingpong: endpoints of RC, of UD, and reliable datagrams that
// libfabric makes of RC.
func libfabric() (all []cell) {
	for _, args := range []string{"-p verbs -e msg -c", "-p verbs -e dgram",
		"-p verbs;ofi_rxm -e rdm -c"} {
		all = append(all, cell{suite: "libfabric-bin", program: "fi_pingpong",
			args: args + " -I 100", pair: true, cm: true, client: serverAddress,
			want: `(?m)^4k +100 `})
	}
	return all
}

// ucx returns the cells of UCX. rc_v is rc_verbs with UD for its connections.
func ucx() []cell {
	all := []cell{{suite: "ucx-utils", program: "ucx_info", args: "-d", single: true,
		want: `(?s)goroce0.*rc_verbs.*ud_verbs`}}
	for _, transport := range []string{"rc_v", "ud_verbs"} {
		for _, args := range []string{"-t tag_lat -n 1000 -s 8", "-t tag_bw -n 500 -s 65536",
			"-t ucp_put_bw -n 500 -s 4096", "-t ucp_fadd -n 200"} {
			all = append(all, cell{suite: "ucx-utils", program: "ucx_perftest", args: args,
				env:  []string{"UCX_TLS=" + transport + ",self", "UCX_NET_DEVICES=goroce0:1"},
				want: `(?m)^Final: `})
		}
	}
	return all
}

// packets returns cells over af_packet, some with faults.
func packets() (all []cell) {
	faults := []string{"--faults", "loss=0.1%,dup=0.1%,seed=7"}
	for _, c := range []struct {
		program, args string
		flags         []string
	}{{"ib_write_bw", "-x 0 -n 200", nil}, {"ib_send_lat", "-x 0 -n 100", nil},
		{"ib_read_bw", "-x 0 -n 200", nil}, {"ib_write_bw", "-x 0 -n 500 -s 4096", faults},
		{"ib_send_bw", "-x 0 -n 500 -s 4096", faults}} {
		all = append(all, cell{suite: "perftest", program: c.program, args: c.args, pair: true,
			packets: true, cm: true, flags: c.flags, client: serverAddress, want: resultRow})
	}
	return append(all, cell{suite: "rdmacm-utils", program: "rping", args: "-v -C 20", pair: true,
		packets: true, cm: true, disconnectFails: true, server: "-s -a " + serverAddress,
		client: "-c -a " + serverAddress},
		cell{suite: "rdmacm-utils", program: "rstream", args: "-S 4096 -C 200", pair: true,
			packets: true, cm: true, flags: faults, client: "-s " + serverAddress,
			want: `(?m)^custom `})
}
