package dataset

import (
	"fmt"
	"slices"
	"strconv"
)

// MultiSlot is text with, for each slot in turn, the number of its values followed by the values, separated by blanks.
// With the slots ids, words and label
//
//	3 1926 8 17 2 5 9 1 1
//
// is a row of three ids, two words and a label of 1. A slot can't be empty: the program that writes the text must pad
// it.
type MultiSlot struct {
	// Order names all slots of a line in order; nil means the order in which Slots name them. A slot that is only in
	// Order is ignored.
	Order []string
	Slots []SlotColumn
}

// CriteoMultiSlot is Criteo's data as multi-slot text: 13 dense values, 26 slots of one id, the label. Its rows have
// the columns of [Criteo].
func CriteoMultiSlot() MultiSlot { return MultiSlot{Slots: criteoSlots()} }

// Columns returns the columns of Slots.
func (f MultiSlot) Columns() ([]Column, error) {
	p, err := f.parser()
	if err != nil {
		return nil, err
	}
	return p.columns, nil
}

// NewParser returns a parser of multi-slot text.
func (f MultiSlot) NewParser() (Parser, error) { return f.parser() }

func (f MultiSlot) parser() (*multiSlotParser, error) {
	s, err := newSlotParser(f.Slots, false)
	if err != nil {
		return nil, err
	}
	p := &multiSlotParser{slotParser: s}
	if f.Order == nil {
		for u, use := range s.uses {
			p.order = append(p.order, orderedSlot{use.name, u})
		}
		return p, nil
	}
	for _, use := range s.uses {
		if !slices.Contains(f.Order, use.name) {
			return nil, fmt.Errorf("%w MultiSlot.Order: slot %q is not in it", ErrOption, use.name)
		}
	}
	for _, name := range f.Order {
		u, used := s.byName[name]
		if !used {
			u = passed
		}
		p.order = append(p.order, orderedSlot{name, u})
	}
	return p, nil
}

// passed is the use of a slot that no column has.
const passed = -1

type orderedSlot struct {
	name string
	use  int
}

type multiSlotParser struct {
	slotParser
	order []orderedSlot
}

func (p *multiSlotParser) ParseLine(line []byte, row Row) error {
	clear(p.counts)
	for _, slot := range p.order {
		var word []byte
		word, line = nextWord(line)
		n, ok := parseInt(word)
		if !ok || n < 1 {
			return badField(slot.name, "the number of its values, 1 or more (pad an empty slot)", word)
		}
		for i := range n {
			if word, line = nextWord(line); len(word) == 0 {
				return badCount(slot.name, int(n), int(i), "values")
			}
			if slot.use == passed {
				continue
			}
			if err := p.set(slot.use, word, row); err != nil {
				return err
			}
		}
	}
	if rest, _ := nextWord(line); len(rest) > 0 {
		return badField("after the last", "the end of the line after "+strconv.Itoa(len(p.order))+" slots", rest)
	}
	return p.end(row)
}

// nextWord returns the first word of line, empty at its end, and the rest.
func nextWord(line []byte) (word, rest []byte) {
	for len(line) > 0 {
		if word, line = cutBlank(line); len(word) > 0 {
			break
		}
	}
	return word, line
}
