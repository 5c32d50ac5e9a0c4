// Package dependencies has the test that docs/dependencies.md lists every dependency with its
// licence. It imports nothing of the module.
package dependencies
