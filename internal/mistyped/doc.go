// Package mistyped finds names that nobody reads because they are nearly those that somebody does: variables of the
// environment, and flags.
package mistyped

// The files of this package, in reading order.
//
//	near.go       which name was meant
//	variables.go  of the environment
//	ours.go       gofleet's own
//	flags.go      of a command line
