package server

import (
	"slices"

	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// scan sends a page of a table's rows: ids after the cursor, at most as many as asked for.
func (s *Server) scan(f *wire.Frame, r *reply) error {
	var msg wire.Scan
	if err := f.JSON(&msg); err != nil {
		return err
	}
	if err := s.enter(f); err != nil {
		return err
	}
	e, err := s.embedding(msg.Table)
	if err != nil {
		return err
	}
	ids, done := s.page(s.store.Tables[e], msg)
	dim := s.store.Tables[e].Param().Dim()
	rows := make([]float32, 0, len(ids)*dim)
	for row := range s.store.Tables[e].RowsOf(ids, s.store.Step()) {
		rows = append(rows, row.W...)
	}
	answer := wire.Scanned{Done: done}
	if len(ids) > 0 {
		answer.Cursor = ids[len(ids)-1] + 1
	}
	if err := r.JSON(answer); err != nil {
		return err
	}
	r.Rows(msg.Table, ids, rows)
	return nil
}

// page is the ids of a scan's page. The sorted ids of a whole table are kept from one page to the next.
func (s *Server) page(t *table.Sparse, msg wire.Scan) (ids []uint64, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scanned == nil {
		s.scanned = make(map[uint32][]uint64)
	}
	if msg.Cursor == 0 || s.scanned[msg.Table] == nil {
		s.scanned[msg.Table] = t.IDs()
	}
	all := s.scanned[msg.Table]
	from, _ := slices.BinarySearch(all, msg.Cursor)
	to := min(from+max(msg.Rows, 1), len(all))
	if done = to == len(all); done {
		delete(s.scanned, msg.Table)
	}
	return all[from:to], done
}
