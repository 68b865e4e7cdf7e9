package table

// Row puts a row back as [Sparse.Rows] gave it, over the row of that id if there is one. A row without state (from
// a file of weights alone) gets the rule's initial state. The clock is moved on to when the row was seen. [ErrFull]
// says that there is no room.
func (f Filler) Row(r Row) error {
	t := f.Table
	if !f.owns(r.ID) {
		return nil
	}
	if err := t.restorable(&r); err != nil {
		return err
	}
	s, hash := t.shardOf(r.ID)
	s.Lock()
	defer s.Unlock()
	return f.restore(s, item{id: r.ID, hash: hash}, &r)
}
