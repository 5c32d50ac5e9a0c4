package cc

// algorithms is the list of all algorithms. To add one, write its file and a line here.
var algorithms = []entry{
	{"bolt", "sub-RTT control by reports of switches (Bolt, NSDI'23)", SignalSRC, func() blueprint {
		return &boltParams{}
	}},
	{"d2tcp", "DCTCP whose cuts depend on deadlines (D2TCP, SIGCOMM'12)", SignalMarks,
		func() blueprint {
			return &d2tcpParams{}
		}},
	{"dcqcn", "rate control by CNPs, as in the paper (DCQCN, SIGCOMM'15)", 0, func() blueprint {
		return &dcqcnParams{}
	}},
	{"dcqcn-nic", "rate control by CNPs, as in NICs, all on timers", 0, func() blueprint {
		return &dcqcnNICParams{}
	}},
	{"dctcp", "AIMD in proportion to the share of marked packets (DCTCP, SIGCOMM'10, RFC 8257)",
		SignalMarks, func() blueprint {
			return &dctcpParams{}
		}},
	{"fixed", "no control: a window and a rate that never change", 0, func() blueprint {
		return &Fixed{}
	}},
	{"hpcc", "inflight bytes kept below capacity by in-band telemetry (HPCC, SIGCOMM'19)",
		SignalINT, func() blueprint {
			return &hpccParams{}
		}},
	{"idctcp", "DCTCP on the counted signals a NIC aggregates: ECE, RTO, OOO (TAURUS, CoNEXT'25)",
		SignalMarks, func() blueprint {
			return &idctcpParams{}
		}},
	{"ledbat", "a delay target beyond the least delay seen (LEDBAT, RFC 6817)", SignalDelay,
		func() blueprint {
			return &ledbatParams{}
		}},
	{"ledbat-dc", "LEDBAT with a known base delay, for data centres", SignalDelay,
		func() blueprint {
			return &ledbatParams{dataCentre: true}
		}},
	{"swift", "AIMD around a target delay, fabric and hosts apart (Swift, SIGCOMM'20)", SignalDelay,
		func() blueprint {
			return &swiftParams{}
		}},
	{"timely", "a rate steered by the gradient of the round-trip time (TIMELY, SIGCOMM'15)",
		SignalDelay, func() blueprint {
			return &timelyParams{}
		}},
}
