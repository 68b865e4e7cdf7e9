package dataset

import (
	"fmt"
	"strconv"
)

// SlotColumn is a column and the slots of a line that fill it. The width of the column is divided evenly over its
// slots: one slot of 13 values, or 26 slots of one id each. A varying column takes all values of one slot.
type SlotColumn struct {
	Column
	// Slots are the names of the slots, in the column's order; nil is one slot with the column's name.
	Slots []string
}

func (c SlotColumn) slots() []string {
	if c.Slots == nil {
		return []string{c.Name}
	}
	return c.Slots
}

// criteoSlots returns the columns of [CriteoSlots].
func criteoSlots() []SlotColumn {
	ids := make([]string, criteoTokens)
	for i := range ids {
		ids[i] = strconv.Itoa(i + 1)
	}
	return []SlotColumn{
		{Floats("dense_input", criteoCounts), []string{"dense_feature"}},
		{Ints("C", criteoTokens), ids},
		{Floats("label"), []string{"click"}},
	}
}

// slotUse is the use of a slot: the column of its values, and their places in the row.
type slotUse struct {
	name  string
	table int // the column
	at    int // the first value
	size  int // number of values that it must have; 0 means any number
	kind  kind
}

// slotLayout maps slots to columns.
type slotLayout struct {
	columns []Column
	uses    []slotUse
	byName  map[string]int // into uses
}

func newSlotLayout(columns []SlotColumn) (*slotLayout, error) {
	l := &slotLayout{byName: map[string]int{}}
	for i, c := range columns {
		l.columns = append(l.columns, c.Column)
		if err := c.Column.check(); err != nil {
			return nil, err
		}
		if err := l.add(i, c); err != nil {
			return nil, err
		}
	}
	return l, checkColumns(l.columns)
}

// add gives each slot of a column an equal share of its width.
func (l *slotLayout) add(column int, c SlotColumn) error {
	slots := c.slots()
	if len(slots) == 0 || !c.Varying && c.Width()%len(slots) != 0 || c.Varying && len(slots) != 1 {
		return fmt.Errorf("%w %q: %d values a row can't be shared by %d slots", ErrColumn, c.Name, c.Width(),
			len(slots))
	}
	share := c.Width() / len(slots)
	for i, name := range slots {
		if _, twice := l.byName[name]; twice {
			return fmt.Errorf("%w %q: slot %q is used twice", ErrColumn, c.Name, name)
		}
		l.byName[name] = len(l.uses)
		l.uses = append(l.uses, slotUse{name, column, i * share, share, c.kind()})
	}
	return nil
}

// slotParser sets the values of slots in the row and counts them.
type slotParser struct {
	*slotLayout
	counts []int // by use, of this line
	pad    bool
}

func newSlotParser(columns []SlotColumn, pad bool) (slotParser, error) {
	l, err := newSlotLayout(columns)
	if err != nil {
		return slotParser{}, err
	}
	return slotParser{l, make([]int, len(l.uses)), pad}, nil
}

// set adds a value to slot use u.
func (p *slotParser) set(u int, text []byte, row Row) error {
	use := &p.uses[u]
	n := p.counts[u]
	if use.size > 0 && n == use.size {
		return badCount(use.name, use.size, n+1, "values, not more")
	}
	p.counts[u]++
	if !use.set(row, n, text) {
		return badField(use.name, use.kind.want(text), text)
	}
	return nil
}

// set sets value n of the slot, and reports whether text is one.
func (u *slotUse) set(row Row, n int, text []byte) bool {
	switch u.kind {
	case floatKind:
		x, ok := parseFloat(text)
		place(row, u.table, u.place(n), x)
		return ok
	case idKind:
		x, ok := parseID(text)
		place(row, u.table, u.place(n), x)
		return ok
	}
	x, ok := parseInt(text)
	place(row, u.table, u.place(n), x)
	return ok
}

// place returns the place of value n of the slot in the row.
func (u *slotUse) place(n int) int {
	if u.size == 0 {
		return appended
	}
	return u.at + n
}

// end checks that every slot had its values, or, with padding, leaves or appends zeros, and begins the next line.
func (p *slotParser) end(row Row) error {
	for u := range p.uses {
		use, n := &p.uses[u], p.counts[u]
		p.counts[u] = 0
		switch {
		case n > 0 && (n == use.size || use.size == 0):
		case !p.pad:
			return badCount(use.name, max(use.size, 1), n, "values")
		case use.size == 0:
			row.table.columns[use.table].zeros(1)
		}
	}
	return nil
}
