package dataset

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/internal/law"
)

// plainRow is a row of the table that these tests use.
type plainRow struct {
	Fixed   []float32
	Varying []int64
}

func addPlain(t *Table, p plainRow) error {
	return t.Add(func(row Row) error {
		copy(row.Floats(0), p.Fixed)
		for _, v := range p.Varying {
			row.AppendInt(1, v)
		}
		return nil
	})
}

// rowsOf reads the table back as slices.
func rowsOf(t *Table) []plainRow {
	out := []plainRow{}
	for r := range t.Len() {
		lo, hi := t.columns[1].span(r)
		out = append(out, plainRow{t.Floats(0)[2*r : 2*r+2], t.Ints(1)[lo:hi]})
	}
	return out
}

func sameRows(a, b []plainRow) bool {
	return slices.EqualFunc(a, b, func(a, b plainRow) bool {
		return slices.Equal(a.Fixed, b.Fixed) && slices.Equal(a.Varying, b.Varying)
	})
}

// A table does what a slice of rows does, whatever is done to it.
func TestTableAndSliceAgree(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		table, err := NewTable(Floats("fixed", 2), Varying(Ints("varying")))
		if err != nil {
			r.Fatal(err)
		}
		rows := []plainRow{}
		for range rapid.IntRange(1, 20).Draw(r, "steps") {
			n := rapid.IntRange(0, 9).Draw(r, "n")
			switch rapid.IntRange(0, 4).Draw(r, "step") {
			case 0, 1:
				p := plainRow{[]float32{float32(n), float32(len(rows))}, make([]int64, n%4)}
				for i := range p.Varying {
					p.Varying[i] = int64(n*10 + i)
				}
				if err := addPlain(table, p); err != nil {
					r.Fatal(err)
				}
				rows = append(rows, p)
			case 2:
				n = min(n, len(rows))
				table.truncate(n)
				rows = rows[:n]
			case 3:
				first := min(n, len(rows))
				kept := slices.Clone(rows[:first])
				for i, row := range rows[first:] {
					if i%3 != 1 {
						kept = append(kept, row)
					}
				}
				table.keep(first, func(i int) bool { return i%3 != 1 })
				rows = kept
			default:
				copied := newTable(table.Columns())
				var picked []int
				var kept []plainRow
				for i := len(rows) - 1; i >= 0; i -= 1 + n%3 {
					picked, kept = append(picked, i), append(kept, rows[i])
				}
				if err := copied.Append(table, picked...); err != nil {
					r.Fatal(err)
				}
				table, rows = copied, kept
			}
			if !sameRows(rowsOf(table), rows) || table.Len() != len(rows) {
				r.Fatalf("table %v, rows %v", rowsOf(table), rows)
			}
		}
	})
}

func TestTableTakesBackAFailedRow(t *testing.T) {
	table, _ := NewTable(Floats("fixed", 2), Varying(Ints("varying")))
	good := plainRow{[]float32{1, 2}, []int64{3}}
	law.Check(t, addPlain(table, good))
	failed := errors.New("no")
	if err := table.Add(func(row Row) error { row.Floats(0)[0] = 9; row.AppendInt(1, 9); return failed }); err != failed {
		t.Errorf("error %v", err)
	}
	law.Check(t, addPlain(table, good))
	if !sameRows(rowsOf(table), []plainRow{good, good}) {
		t.Errorf("rows %v", rowsOf(table))
	}
}

func TestTablesThatDontFit(t *testing.T) {
	a, _ := NewTable(Floats("x", 2))
	for name, columns := range map[string][]Column{
		"width":   {Floats("x", 3)},
		"type":    {Ints("x", 2)},
		"varying": {Varying(Floats("x"))},
		"number":  {Floats("x", 2), Floats("y")},
	} {
		if b, _ := NewTable(columns...); !errors.Is(a.Append(b), ErrColumn) {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewTable(); !errors.Is(err, ErrColumn) {
		t.Errorf("no columns: %v", err)
	}
}
