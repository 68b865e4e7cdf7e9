package server

import (
	"slices"

	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// day is what server 0 knows of the last day that was ended: workers that all end it, as they do after a barrier, end one.
type day struct {
	step    int64
	how     wire.Shrink
	freed   wire.Freed
	workers []int // whose call this day was the answer to; nil before the first day has ended
}

// shared says that a worker asks for the end of a day that another has ended already, at this very step, and that it has not
// been told of. One that asks again wants another day.
func (d *day) shared(worker int, step int64, how wire.Shrink) bool {
	if d.workers == nil || d.step != step || d.how != how || slices.Contains(d.workers, worker) {
		return false
	}
	d.workers = append(d.workers, worker)
	return true
}

// shrink ends the day of this server's tables, and the cut.
func (s *Server) shrink(msg *wire.Save) {
	how := *msg.Shrink
	done, err := s.store.EndDay(table.Shrink{Decay: how.Decay, MinScore: how.MinScore, Unseen: how.Unseen})
	var freed wire.Freed
	for _, t := range done {
		freed.Rows, freed.Waiting = append(freed.Rows, t.Rows), append(freed.Waiting, t.Waiting)
	}
	if err == nil {
		s.log.Info("a day has ended", "rows dropped", freed.Rows, "ids forgotten", freed.Waiting)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves.wrote.id, s.saves.wrote.freed, s.saves.wrote.err = msg.ID, freed, err
	s.thaw()
}

// endDay notes, on server 0, that all servers have ended the day.
func (s *Server) endDay(worker int, msg *wire.Save) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves.day = day{step: s.store.Step(), how: *msg.Shrink, freed: msg.Freed, workers: []int{worker}}
	s.saves.committing, s.saves.committed = "", remember(s.saves.committed, msg.ID)
	s.abandon(worker, msg.ID)
	s.broadcast()
}
