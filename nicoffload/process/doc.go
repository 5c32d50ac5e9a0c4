// Package process runs a half of nicoffload in another OS process: the soft NIC, as a DPU's core
// would run it, or the agent. Both processes poll rings in shared memory; the only system calls are
// naps while there is nothing to do.
//
// The child process runs the same program as its parent. The program calls [BeChild] at the
// beginning of main, which returns only in the parent.
//
//	polling core ─ nicoffload.Remote ──ring→ NIC process ─ring→ Device, Agent  [StartNIC]
//	polling core ─ nicoffload.NICSide ─ring→ agent process                     [StartAgent]
//
// A child may die at any time. The polling core never waits for one: it detects the silence
// (nicoffload.Controller), and continues with a new one ([Child.Restart],
// nicoffload.Remote.Reopen).
//
// The package imports os, x/sys/unix, nicoffload, cc and units.
package process
