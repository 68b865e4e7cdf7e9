package dataset

// Format is a text format with one row per line: [Criteo], [SlotText], [MultiSlot], [CSV], or your own.
//
// It may have a method Linewise() bool, which says that its parsers treat each line independently of the lines before,
// as the formats of this package do. [Dataset.Load] then parses a file in several goroutines, each with a parser that
// has the header. A format that embeds one of this package must define Linewise itself.
type Format interface {
	// Columns describes the rows, or returns an error that says why the format's options can't be used.
	Columns() ([]Column, error)
	// NewParser returns a parser for one file.
	NewParser() (Parser, error)
}

// Parser turns the lines of one file into rows. It is used by one goroutine. With a method
// ParseHeader(line []byte) error it reads the first line of each file as a header.
type Parser interface {
	// ParseLine sets row, which is zeros before, from a line without its line end. The slice is valid until ParseLine
	// returns. A bad line is reported as a [*LineError]; a panic becomes an error that names the line.
	ParseLine(line []byte, row Row) error
}

// headerParser is a Parser that reads the first line of each file as a header.
type headerParser interface {
	ParseHeader(line []byte) error
}

// linewise reports whether a format's parsers keep nothing from line to line. It checks the types of this package's
// formats: a method would be inherited by formats that embed them, whose own parsers may keep state.
func linewise(f Format) bool {
	switch f := f.(type) {
	case Criteo, CSV, JSONLines, LibSVM, MultiSlot, SlotText, *Criteo, *CSV, *JSONLines, *LibSVM, *MultiSlot, *SlotText:
		return true
	case interface{ Linewise() bool }:
		return f.Linewise()
	}
	return false
}
