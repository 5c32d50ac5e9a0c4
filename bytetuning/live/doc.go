// Package live is real switches as a target of a tuner: watermarks go there over SSH, in the
// switch's dialect (to SONiC also over gNMI), and measurements come back over gNMI (OpenConfig).
//
// A fleet is a YAML file:
//
//	settle: 10s                  # after a change, before it is measured
//	period: 30s                  # of a measurement
//	poll: 1s
//	switches:
//	  - name: tor1
//	    layer: tor
//	    dialect: sonic
//	    apply: ssh               # or gnmi, which SONiC's CONFIG_DB can be written by
//	    ssh: {address: "192.0.2.1:22", user: admin, key: /etc/bytetuning/key, known_hosts: /etc/bytetuning/known_hosts}
//	    gnmi: {address: "192.0.2.1:8080", ca: /etc/bytetuning/ca.pem}
//	    interfaces: [Ethernet0, Ethernet4]   # that are configured
//	    watch: [Ethernet0]                   # and that are measured; all by default
//	    priority: 3
//	    queue: 3
//	    chip: {cell: 256B, buffer: 32MiB, ports: 32}
//
// Before the first change the configuration of every switch is saved; Rollback enters what undoes
// ours, and of what was saved those lines that ours replaced, on SONiC all of it. All switches'
// configurations are rendered before any is touched. When one refuses, Apply says at which it
// stopped; a Search then applies the best known point to all of them.
//
// No part of this was tried on a switch: tests have an SSH server and a gNMI server of their own.
// The package imports bytetuning, intent, dialect, telemetry and units, crypto/ssh, and gNMI's
// protobufs over gRPC.
package live
