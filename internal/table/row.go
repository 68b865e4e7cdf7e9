package table

import "unsafe"

// header is the beginning of a row. Weights and state follow it in the same arena chunk.
type header struct {
	id      uint64
	step    int64  // the last applied step, or with a rule that sweeps the number of steps; below 0: free
	seen    uint32 // the table's clock at the last pull or push, and flags
	updates uint32 // how often it was pushed
}

// changed is the bit in seen, of a row or a waiting id, that marks a change since changes were last taken. The steps of
// a rule that sweeps are no change in this sense.
const changed = 1 << 31

// newer is the bit in a row's seen for rows whose present weights are in no model for serving; served is the bit for
// rows that are in such a model: see [Store.Select].
const (
	newer  = 1 << 30
	served = 1 << 29

	flags = changed | newer | served
)

// marks are the shows and clicks of a row, in a table that counts them. A row's delta score follows its marks: the
// score of the shows and clicks since a model for serving was saved with it.
type marks struct{ show, click float32 }

func (m *marks) add(n marks) { m.show, m.click = m.show+n.show, m.click+n.click }

// mostMarks is the largest count in float32: adding one does not change it.
const mostMarks = 1 << 24

// stop reports whether a count has reached the largest.
func (m *marks) stop() bool { return m.show >= mostMarks || m.click >= mostMarks }

const (
	headerFloats = int(unsafe.Sizeof(header{}) / 4)
	marksFloats  = int(unsafe.Sizeof(marks{})/4) + 1
)

// layout is the memory layout of a table's rows, in floats.
type layout struct {
	dim, state, stride int
	marked             bool // marks and the delta score follow the state
	numbered           bool // the row's number in the arena is last
}

func newLayout(dim, state int, marked, numbered bool) layout {
	n := headerFloats + dim + state
	if marked {
		n += marksFloats
	}
	if numbered {
		n++
	}
	return layout{dim, state, n + n&1, marked, numbered} // headers hold 8-byte numbers
}

// floats are all values of a row.
func (l layout) floats(h *header) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(h)), l.stride)
}

func (l layout) weights(h *header) []float32 {
	return unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(h), unsafe.Sizeof(header{}))), l.dim)
}

func (l layout) slots(h *header) []float32 {
	if l.state == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(h), 4*(headerFloats+l.dim))), l.state)
}

// values are the weights and the state, which follow each other.
func (l layout) values(h *header) []float32 {
	return unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(h), unsafe.Sizeof(header{}))), l.dim+l.state)
}

// marks are the marks of a row in a table that has them.
func (l layout) marks(h *header) *marks {
	return (*marks)(unsafe.Add(unsafe.Pointer(h), 4*(headerFloats+l.dim+l.state)))
}

// delta is the delta score of a row in a table that has marks.
func (l layout) delta(h *header) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(l.marks(h)), unsafe.Sizeof(marks{})))
}

// number is the number of a row in its shard's arena, in a table that is numbered.
func (l layout) number(h *header) *uint32 {
	return (*uint32)(unsafe.Add(unsafe.Pointer(h), 4*(l.stride-1)))
}
