package server

import (
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// shrink ends the period of this server's tables, and the cut.
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
	s.wrote(msg, freed, err)
}
