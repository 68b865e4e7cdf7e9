package dataset

import "io"

// view is an indexed source and an order of its rows. Orders are composed: each operation makes a new view of the last.
type view struct {
	Indexed
	len   int
	order func(epoch int) []int // freshly made at each call
	why   string                // why there are no rows, if there are none
}

func newView(s Indexed) *view {
	return &view{Indexed: s, len: s.Len(), order: func(int) []int { return count(s.Len()) }, why: sourceIsEmpty}
}

// Len returns the number of rows in the order, which may be smaller than the source's.
func (v *view) Len() int { return v.len }

func (v *view) Open(epoch int) (Reader, error) {
	return &viewReader{v.Indexed, v.order(epoch), v.why}, nil
}

// then returns v with its order passed through f, which may change its slice and returns n rows; why is the reason if n
// is 0.
func (v *view) then(n int, why string, f func(order []int, epoch int) []int) *view {
	return &view{v.Indexed, n, func(epoch int) []int { return f(v.order(epoch), epoch) }, why}
}

// at returns v with its order of one epoch in all epochs.
func (v *view) at(epoch int) *view {
	return &view{v.Indexed, v.len, func(int) []int { return v.order(epoch) }, v.why}
}

type viewReader struct {
	source Indexed
	rest   []int
	why    string
}

func (r *viewReader) Read(t *Table, n int) (int, error) {
	n = min(n, len(r.rest))
	if n == 0 {
		return 0, io.EOF
	}
	before := t.Len()
	err := gatherNumbered(r.source, t, r.rest[:n])
	r.rest = r.rest[n:]
	return t.Len() - before, err
}

// gatherNumbered is Gather; rows that come from no file get their numbers as origins.
func gatherNumbered(s Indexed, t *Table, rows []int) error {
	before := t.Len()
	err := s.Gather(t, rows)
	if len(t.at) <= before {
		for i := range t.Len() - before {
			t.add(before+i, originOf(0, rows[i]+1))
		}
	}
	return err
}

func (r *viewReader) Close() error { return nil }

// count returns 0, 1, … n-1.
func count(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}
