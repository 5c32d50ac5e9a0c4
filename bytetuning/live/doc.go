// Package live makes real switches the target of a tuner: it configures watermarks over SSH in the
// switch's dialect (SONiC also over gNMI), and subscribes to queues over gNMI (OpenConfig).
//
// A fleet is a YAML file:
//
//	settle: 10s                  # between a change and its measurement
//	period: 30s                  # of a measurement
//	poll: 1s
//	confirm: 5m                  # the switches undo what is not confirmed by then
//	switches:
//	  - name: tor1
//	    layer: tor
//	    dialect: sonic
//	    apply: ssh               # or gnmi, for SONiC's CONFIG_DB
//	    ssh:
//	      address: "192.0.2.1:22"
//	      user: admin
//	      key: /etc/bytetuning/key
//	      known_hosts: /etc/bytetuning/known_hosts
//	    gnmi: {address: "192.0.2.1:8080", ca: /etc/bytetuning/ca.pem}
//	    interfaces: [Ethernet0, Ethernet4]   # to configure
//	    watch: [Ethernet0]                   # to measure; all by default
//	    priority: 3
//	    queue: 3
//	    chip: {cell: 256B, buffer: 32MiB, ports: 32}
//
// Every point is on trial, by the switch's own confirmed commit or a timer on the switch: Confirm
// keeps it, Revert ends it, and without either the switch goes back by itself.
//
// The configuration of every switch is saved before the first change. Rollback loads it on SONiC;
// on other switches it enters the undo of our configuration and the saved lines that ours replaced.
// Apply renders the configurations of all switches before it changes any. If a switch rejects its
// configuration, the error of Apply names it; a Search then applies the best known point to all
// switches.
//
// Nothing was tested on a switch; tests use an SSH server and a gNMI server of their own. The
// package imports bytetuning, intent, dialect, telemetry and units, crypto/ssh, and gNMI's
// protobufs over gRPC.
package live
