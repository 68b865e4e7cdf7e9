package main

// system is the file system of a directory.
type system struct {
	name string // empty if unknown
	kind systemKind
}

// systemKind is who sees a file system.
type systemKind int

const (
	unknownSystem systemKind = iota
	ownSystem                // this machine alone, or this container
	sharedSystem             // others over the network, or through a program
)

// text is a phrase of a line, with its comma.
func (s system) text() string {
	switch s.kind {
	case ownSystem:
		return "local (" + s.name + "), "
	case sharedSystem:
		return "shared (" + s.name + "), "
	}
	if s.name != "" {
		return s.name + ", "
	}
	return ""
}
