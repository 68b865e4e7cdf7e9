package dataset

import "bytes"

// SlotText is text with "slot:value" pairs separated by blanks, one row per line. A slot with several values is
// repeated:
//
//	click:0 dense_feature:0.05 dense_feature:0.08 1:737395 2:210498
//
// Slots that no column names are ignored. The order of slots does not matter.
type SlotText struct {
	Slots []SlotColumn
	// Pad fills missing values of a slot with zeros. By default a line that lacks values is an error.
	Pad bool
}

// CriteoSlots is Criteo's data as slot text: 13 dense_feature already scaled, slots 1 to 26 of one id each, click. Its
// rows have the columns of [Criteo].
func CriteoSlots() SlotText { return SlotText{Slots: criteoSlots()} }

// Columns returns the columns of Slots.
func (f SlotText) Columns() ([]Column, error) {
	l, err := newSlotLayout(f.Slots)
	if err != nil {
		return nil, err
	}
	return l.columns, nil
}

// NewParser returns a parser of slot text.
func (f SlotText) NewParser() (Parser, error) {
	p, err := newSlotParser(f.Slots, f.Pad)
	return &slotTextParser{p}, err
}

type slotTextParser struct{ slotParser }

func (p *slotTextParser) ParseLine(line []byte, row Row) error {
	clear(p.counts)
	for len(line) > 0 {
		var pair []byte
		if pair, line = cutBlank(line); len(pair) == 0 {
			continue
		}
		colon := bytes.IndexByte(pair, ':')
		if colon < 1 {
			return badField("of slots", "slot:value", pair)
		}
		if use, known := p.byName[string(pair[:colon])]; known {
			if err := p.set(use, pair[colon+1:], row); err != nil {
				return err
			}
		}
	}
	return p.end(row)
}

// cutBlank returns the text before the first blank or tab, and the rest.
func cutBlank(line []byte) (word, rest []byte) {
	for i, c := range line {
		if c == ' ' || c == '\t' {
			return line[:i], line[i+1:]
		}
	}
	return line, nil
}
