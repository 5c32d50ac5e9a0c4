// Package fluid is the model of DCQCN, ECN and PFC as a fluid (ByteTuning, IEEE TCC 2025, section
// 4; Zhu et al., SIGCOMM 2015, section 5): delay differential equations for the rates of N flows
// through two switches. Flows come to a leaf S1, which PFC makes wait; its output comes to the ToR
// switch S0 of the receiver, whose queue marks and pauses. What S1 has no room for is lost.
// Equations have the paper's numbers.
//
//	r, err := fluid.Run(fluid.Default(8, 40*units.Gbps)) // 50 ms of eight flows that begin at 40 Gb/s
//
// Where the paper and this differ:
//   - Equation 11 is misprinted: 1 - p^FB p is (1-p)^FB p, and likewise with T R_C (DCQCN's
//     equations 8, 9).
//   - Equation 13 takes a size from a rate. What is lost is what comes in while S1 is full, less
//     what leaves. AsPublished counts all that comes in then and lets a full S0 stand still, as the
//     authors' program does.
//   - Equation 7 is a state, not a function of the queue: a pause lasts T_pfc. XON ends it earlier,
//     as switches do.
//   - Table 4 prints a byte counter of 100 MB and explains it as 10000 packets of 1 KB: it is 10
//     MB.
//   - Without Uplink S1 takes the surplus over C and S0 the same surplus again, as the equations
//     have it. With it S0 gets what S1 sends.
//
// A model owns nothing but its arrays, reads no clock and draws nothing: the same Config, the same
// Result. The package imports units.
package fluid
