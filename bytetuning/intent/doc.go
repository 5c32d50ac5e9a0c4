// Package intent describes the intended watermarks of switches independently of vendors: a YAML
// file with a watermark for each layer, properties of the chip and of the traffic, and where the
// watermark applies (priority, queue, interfaces).
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
// Validate rejects intents that are invalid on every switch. Lint looks for the three
// misconfigurations of ByteTuning's section 2.2, for which it needs more information (traffic,
// upstream, lossy). The package imports bytetuning and units, and does not read files.
package intent
