// Package mistyped finds mistyped names of environment variables and flags: names that are not known, but nearly equal
// one that is.
package mistyped

// The files of this package, in reading order.
//
//	near.go       the name that was probably meant
//	variables.go  variables of the environment
//	ours.go       gofleet's own variables
//	flags.go      flags of a command line
