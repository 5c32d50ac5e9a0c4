// Package dpdktest is for the tests of any package that needs real ports: it starts EAL once per
// test binary, with ordinary pages and no privilege, opens ports that are closed when the test
// ends, and runs tests in network namespaces.
//
//	func TestMain(m *testing.M) { dpdktest.Main(m, nil) }
//
// It imports dpdk and testing; nothing but tests may import it.
package dpdktest
