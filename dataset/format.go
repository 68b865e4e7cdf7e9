package dataset

// Format is a text format with one row a line: [Criteo], [SlotText], [MultiSlot], [CSV], or a user's own.
type Format interface {
	// Columns describes the rows that lines become, or says why the format's options can't be used.
	Columns() ([]Column, error)
	// NewParser returns a parser for one file.
	NewParser() (Parser, error)
}

// Parser turns the lines of one file into rows. It is used by one goroutine.
type Parser interface {
	// ParseLine sets row, which begins as zeros, from a line without its end. The line is valid until it returns. What
	// is wrong with a line is told by a [*LineError].
	ParseLine(line []byte, row Row) error
}

// HeaderParser is a parser that wants the first line of a file for itself.
type HeaderParser interface {
	Parser
	ParseHeader(line []byte) error
}

// LinewiseFormat is an optional power of a user's [Format] whose parsers make the same of a line, whatever lines came
// before, as this package's do. [Dataset.Load] has several goroutines parse a file of such a format, each with a
// parser that has its header. A format that embeds this package's has the power only if it says so itself.
type LinewiseFormat interface {
	Format
	Linewise() bool
}

// linewise knows this package's formats by their types: a method would be that of each format that embeds them too,
// whose own parsers may remember lines.
func linewise(f Format) bool {
	switch f := f.(type) {
	case Criteo, CSV, JSONLines, LibSVM, MultiSlot, SlotText, *Criteo, *CSV, *JSONLines, *LibSVM, *MultiSlot, *SlotText:
		return true
	case LinewiseFormat:
		return f.Linewise()
	}
	return false
}
