// Package cctest supports the tests of cc and of packages built on it: it keeps parameter tables in
// docs up to date, and provides virtual time for packet models. It imports units and testify.
package cctest
