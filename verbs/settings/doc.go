// Package settings has the settings of a process with our libibverbs.so.1, which it finds in its
// environment: the port, addresses, faults and more. roce_run makes the environment of flags, the
// engine in the process reads it. docs/verbs-programs.md lists the variables.
package settings
