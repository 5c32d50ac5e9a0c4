// Package dpdktest is for the tests of any package that needs real ports: it starts EAL once per
// test binary, with ordinary pages and no privilege, and opens ports that are closed, and checked
// for lost buffers, when the test ends.
//
//	func TestMain(m *testing.M) { dpdktest.Main(m) }
//
// A test that needs more than that calls Require with what it needs, and is skipped with the
// reason where that is not to be had. The package imports dpdk and testing; nothing but tests may
// import it.
package dpdktest
