// Package cctest is what tests of cc, and of what is built on it, share: tables of parameters in
// docs that are those of the code, and a virtual time for models of packets. It imports units and
// testify.
package cctest
