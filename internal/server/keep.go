package server

import (
	"slices"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// Frozen dense params, such as the statistics of batch norm, take no part in training, and each worker has its own values. Server 0 keeps
// those of the worker that saved last or of the checkpoint that was loaded: so they are in its part like any block, and workers that
// join begin with them.

// frozenBlock keeps a frozen param. Its name is apart from those of blocks that are cut from others.
func frozenBlock(l *layout.Layout, b layout.Block) table.Block {
	return table.Block{Param: l.Params[b.Param], Name: "frozen " + b.Name, Values: table.NewDense(b.Size, nil)}
}

// frozenFloats is the number of frozen dense values that this server keeps.
func (s *Server) frozenFloats() int {
	if s.c.Index != 0 {
		return 0
	}
	return s.c.Layout.Frozen.Floats
}

// eachFrozen calls do, on server 0, with every frozen block and where it lies among them.
func (s *Server) eachFrozen(do func(b layout.Block, values *table.Dense) error) error {
	if s.c.Index != 0 {
		return nil
	}
	behind := len(s.c.Layout.Parts[0].Blocks)
	for i, b := range s.c.Layout.Frozen.Blocks {
		if err := do(b, s.store.Blocks[behind+i].Values); err != nil {
			return err
		}
	}
	return nil
}

// keep takes a piece of the frozen values of the worker that saves: they count when its part of the checkpoint is written. The worker
// sends the pieces in order; one that comes again changes nothing.
func (s *Server) keep(f *wire.Frame) error {
	var msg wire.Save
	if err := f.JSON(&msg); err != nil {
		return err
	}
	w, from, _, err := s.denseOf(f, s.frozenFloats(), new([]float32))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.member(&f.Header); err != nil {
		return err
	}
	return s.cut.Keep(msg.ID, int(f.Worker), from, w)
}

// takeFrozen makes the saving worker's frozen values, if it is a checkpoint that is made, those of the tables. mu is held.
func (s *Server) takeFrozen(w []float32) error {
	if len(w) == 0 {
		return nil
	}
	return s.eachFrozen(func(b layout.Block, values *table.Dense) error {
		s.known[b.Param] = true
		return values.Set(w[b.At:][:b.Size])
	})
}

// knowLoaded notes which frozen params have come from a checkpoint: those that are not absent from it. mu is held.
func (s *Server) knowLoaded(absent []string) {
	for _, b := range s.c.Layout.Frozen.Blocks {
		s.known[b.Param] = s.c.Index == 0 && !slices.Contains(absent, b.Name)
	}
}

// bring answers a worker that joins with the frozen values that are known, or with word that none are.
func (s *Server) bring(f *wire.Frame, r *reply) error {
	from, to, err := f.Span(s.frozenFloats())
	if err != nil {
		return err
	}
	if bytes, limit := 4*(to-from), s.limit(); bytes > limit {
		return wire.Refuse(wire.StatusRefused, "frozen values of %d bytes for worker %d: a message of server %d has at most %d", bytes, f.Worker, s.c.Index, limit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.member(&f.Header); err != nil {
		return err
	}
	var kept wire.Kept
	r.dense = grow(r.dense, to-from)
	err = s.eachFrozen(func(b layout.Block, values *table.Dense) error {
		if s.known[b.Param] {
			kept.Params = append(kept.Params, b.Param)
		}
		if lo, hi := max(from, b.At), min(to, b.At+b.Size); lo < hi {
			return values.PullAt(lo-b.At, r.dense[lo-from:hi-from])
		}
		return nil
	})
	if err == nil && len(kept.Params) > 0 {
		r.Dense(r.dense)
	}
	if err != nil {
		return err
	}
	return r.JSON(kept)
}
