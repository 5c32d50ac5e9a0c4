// Package intent is what an operator wants of switches, in no vendor's words: a YAML file with a
// watermark for each layer, what is known of the chip and of the traffic, and where it goes
// (priority, queue, interfaces).
//
//	layers:
//	  - name: leaf
//	    chip: {cell: 256B, buffer: 32MiB, ports: 32}
//	    kmin: 200KB
//	    kmax: 400KB
//	    pmax: 20%
//	    headroom: 35840B
//	    alpha: 1/8          # PFC pauses at α of the free buffer; or xoff: 500KB for a fixed level
//	    priority: 3
//	    queue: 3
//	    interfaces: [Ethernet0, Ethernet4]
//
// Validate refuses what no switch should be told. Lint looks for the three cases of
// misconfiguration that ByteTuning's section 2.2 reports, for which it needs to know more (traffic,
// upstream, lossy). The package imports bytetuning and units, and reads no files: who calls it
// does.
package intent
