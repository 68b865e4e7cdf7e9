package dataset

import "slices"

// narrower is a format that can read lines which lack what only some columns need.
type narrower interface {
	// only is the format with the columns alone that keep wants.
	only(keep func(column string) bool) Format
}

// only is a format that reads lines alike, but asks them for no more than some columns if it is of this package and
// can. A format that embeds one has its method too, which would leave out what it does itself.
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

// only passes over the values of other slots, which stand in the line all the same.
func (f MultiSlot) only(keep func(string) bool) Format {
	if f.Order == nil {
		for _, c := range f.Slots {
			f.Order = append(f.Order, c.slots()...)
		}
	}
	f.Slots = chosenOf(f.Slots, func(c SlotColumn) bool { return keep(c.Name) })
	return f
}

// chosenOf are the elements of s that keep wants, in new memory.
func chosenOf[T any](s []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(s), func(x T) bool { return !keep(x) })
}
