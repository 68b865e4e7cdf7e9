package table

// Columns are many rows, with each kind of value in a slice of its own, as in a file.
type Columns struct {
	IDs []uint64
	// Floats are the weights and the state of one row after the other. If a row has more state than the table has room
	// for, the rest is ignored.
	Floats []float32
	// Stateless rows are restored with the rule's initial state; anything after their weights is ignored.
	Stateless     bool
	Steps         []int64
	Seen, Updates []uint32
	// Show and Click are nil if they are not counted.
	Show, Click []float32
	// Delta is nil if it is not known: all shows and clicks are then new to serving.
	Delta []float32
	// Served is nil if no model for serving has rows, else it has IsServed and IsAsServed for each row.
	Served []uint32
}

// Bits of Served: [Row.Served] and [Row.AsServed].
const (
	IsServed = 1 << iota
	IsAsServed
)

// newColumns makes room for n rows of the table.
func (k *kind) newColumns(n int) *Columns {
	c := &Columns{IDs: make([]uint64, n), Floats: make([]float32, n*(k.dim+k.state)), Steps: make([]int64, n),
		Seen: make([]uint32, n), Updates: make([]uint32, n), Served: make([]uint32, n)}
	if k.marked {
		c.Show, c.Click, c.Delta = make([]float32, n), make([]float32, n), make([]float32, n)
	}
	return c
}

// resize sets the number of rows to n, at most the number that there was room for.
func (c *Columns) resize(k *kind, n int) {
	c.IDs, c.Floats, c.Steps, c.Seen, c.Updates = c.IDs[:n], c.Floats[:n*(k.dim+k.state)], c.Steps[:n], c.Seen[:n],
		c.Updates[:n]
	c.Served = c.Served[:n]
	if k.marked {
		c.Show, c.Click, c.Delta = c.Show[:n], c.Click[:n], c.Delta[:n]
	}
}

// row returns row i.
func (c *Columns) row(k *kind, i int) Row {
	width := len(c.Floats) / len(c.IDs)
	floats := c.Floats[i*width:][:width]
	r := Row{ID: c.IDs[i], W: floats[:k.dim], Step: c.Steps[i], Seen: c.Seen[i], Updates: c.Updates[i]}
	if !c.Stateless {
		r.State = floats[k.dim:min(width, k.dim+k.state)]
	}
	if c.Show != nil {
		r.Show, r.Click = c.Show[i], c.Click[i]
	}
	if c.Delta != nil {
		r.Delta = c.Delta[i]
	} else if k.marked {
		r.Delta = float32(k.rate(marks{r.Show, r.Click}))
	}
	if c.Served != nil {
		r.Served, r.AsServed = c.Served[i]&IsServed != 0, c.Served[i]&IsAsServed != 0
	}
	return r
}

// set sets row i to a row of the table.
func (c *Columns) set(k *kind, i int, h *header) {
	values := k.values(h)
	copy(c.Floats[i*len(values):], values)
	c.Steps[i], c.Seen[i], c.Updates[i], c.Served[i] = h.step, h.seen&^flags, h.updates, h.ofServing()
	if k.marked {
		m := k.marks(h)
		c.Show[i], c.Click[i], c.Delta[i] = m.show, m.click, *k.delta(h)
	}
}

// unborn sets row i to the initial values of a row that the table does not have.
func (c *Columns) unborn(k *kind, i int) {
	width := k.dim + k.state
	floats := c.Floats[i*width:][:width]
	k.param.InitRow(floats[:k.dim], c.IDs[i])
	k.initSlots(floats[k.dim:])
	c.Steps[i], c.Seen[i], c.Updates[i], c.Served[i] = 0, 0, 0, 0
	if k.marked {
		c.Show[i], c.Click[i], c.Delta[i] = 0, 0, 0
	}
}
