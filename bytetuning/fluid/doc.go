// Package fluid is a fluid model of DCQCN, ECN and PFC (ByteTuning, IEEE TCC 2025, section 4; Zhu
// et al., SIGCOMM 2015, section 5): delay differential equations for the rates of N flows through
// two switches. Flows enter a leaf S1, which PFC pauses. Its output enters S0, the receiver's ToR
// switch, whose queue marks and pauses. S1 drops what does not fit its buffer. Equations have the
// paper's numbers.
//
//	r, err := fluid.Run(fluid.Default(8, 40*units.Gbps)) // 50 ms of eight flows that start at 40
//
// Gb/s
//
// Differences from the paper:
//   - Equation 11 is misprinted: 1 - p^FB p is (1-p)^FB p, and likewise with T R_C (DCQCN's
//     equations 8, 9).
//   - Equation 13 subtracts a size from a rate. Here the loss is the arrivals while S1 is full,
//     less the departures. AsPublished counts all arrivals while S1 is full and freezes a full S0,
//     as the authors' program does.
//   - Equation 7 is a state here, not a function of the queue: a pause lasts T_pfc. XON ends it
//     earlier, as in switches.
//   - Table 4 prints a byte counter of 100 MB and explains it as 10000 packets of 1 KB; it is
//     10 MB.
//   - Without Uplink, both S1 and S0 queue the arrivals in excess of C, as in the equations. With
//     Uplink, S0 receives what S1 sends.
//
// A model reads no clock and uses no random numbers: the same Config gives the same Result. The
// package imports units.
package fluid
