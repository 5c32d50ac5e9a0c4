// Package check has the tests of deploy/: kustomizations build, every object decodes strictly into
// the Kubernetes API's types and needs no privileges, systemd accepts the unit. It is a module of
// its own, so that goroce does not depend on Kubernetes.
package check
