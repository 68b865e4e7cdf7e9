package main

// system is the file system of a directory.
type system struct {
	name string // empty if unknown
	kind systemKind
}

// systemKind is which machines see a file system.
type systemKind int

const (
	unknownSystem systemKind = iota
	ownSystem                // visible to this machine alone, or this container
	sharedSystem             // visible to others over the network, or through a program
)

// text is a phrase for a line, with its comma.
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
