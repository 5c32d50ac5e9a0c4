// Package chakra reads Chakra execution traces as traffic. Their schema is MLCommons'
// schema/protobuf/et_def.proto.
//
// A trace is the work of one rank: nodes of computation and communication with dependencies. [Read]
// decodes one. [Flows] makes a [workload.Graph] of the traces of all ranks: delays for computation,
// and flows for sends and for the steps of collective operations, by ring, tree or direct
// algorithms.
//
// The package starts no goroutine and reads no clock. It may import workload and units.
package chakra
