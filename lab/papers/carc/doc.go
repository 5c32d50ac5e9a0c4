// Package carclab holds experiments of CARC (Cache-Aware I/O Rate Control for RDMA, APNet 2025),
// one a file. Most are models: senders, a link, a NIC, a last-level cache and threads in virtual
// time (model.go and the files beside it), with the credits of package carc and hostCC's signal as
// they are on a real host. The others run the transport in the fabric, or on this machine.
package carclab
