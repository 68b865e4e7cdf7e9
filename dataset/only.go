package dataset

import "slices"

// narrower is a format that can read lines without the fields that only some columns need.
type narrower interface {
	// only returns the format with only the columns for which keep is true.
	only(keep func(column string) bool) Format
}

// only returns a format that reads the same lines, but only some columns of them, if f is of this package and supports
// that. A format that embeds one of this package's inherits its method, which would leave out the embedding format's
// own work.
func only(f Format, columns []string) Format {
	switch f.(type) {
	case CSV, JSONLines, MultiSlot, SlotText, *CSV, *JSONLines, *MultiSlot, *SlotText:
		return f.(narrower).only(func(c string) bool { return slices.Contains(columns, c) })
	}
	return f
}

func (f CSV) only(keep func(string) bool) Format {
	f.Schema = chosenOf(f.Schema, func(c CSVColumn) bool { return keep(c.Name) })
	return f
}

func (f JSONLines) only(keep func(string) bool) Format {
	f.Schema = chosenOf(f.Schema, func(c CSVColumn) bool { return keep(c.Name) })
	return f
}

func (f SlotText) only(keep func(string) bool) Format {
	f.Slots = chosenOf(f.Slots, func(c SlotColumn) bool { return keep(c.Name) })
	return f
}

// only skips the values of other slots, which are still in the line.
func (f MultiSlot) only(keep func(string) bool) Format {
	if f.Order == nil {
		for _, c := range f.Slots {
			f.Order = append(f.Order, c.slots()...)
		}
	}
	f.Slots = chosenOf(f.Slots, func(c SlotColumn) bool { return keep(c.Name) })
	return f
}

// chosenOf returns the elements of s for which keep is true, in new memory.
func chosenOf[T any](s []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(s), func(x T) bool { return !keep(x) })
}
