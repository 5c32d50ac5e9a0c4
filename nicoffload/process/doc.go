// Package process puts a half of nicoffload into another OS process: the soft NIC, as a DPU's core
// would run it, or the agent. They share memory with the polling core's process and nothing else:
// rings, which both sides poll; there are no system calls but naps while there is nothing to do.
//
// A program that starts such a process is that process, too: it calls [BeChild] at the beginning of
// main, which returns only where it is not one.
//
//	polling core ── nicoffload.Remote ──ring──→ NIC process ──ring──→ Device, Agent      [StartNIC]
//	polling core ── nicoffload.Board ───ring──→ agent process                            [StartAgent]
//
// Either of the two may die at any time. The polling core never waits for one: it notices the
// silence (nicoffload.Controller), and takes up with a new one ([Child.Restart],
// nicoffload.Remote.Reopen).
//
// The package imports os, x/sys/unix, nicoffload, cc and units.
package process
