package server

import (
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// newStore makes the tables of one part of a layout: its dense blocks in the part's order, on server 0 the frozen ones behind them, and
// every embedding. rule is that of each param.
func newStore(l *layout.Layout, part int, rule func(*optimizer.Param) optimizer.Rule, numbered bool) (*table.Store, error) {
	store := new(table.Store)
	for _, b := range l.Parts[part].Blocks {
		block := table.Block{Param: l.Params[b.Param], Name: b.Name, Offset: b.Offset, Values: table.NewDense(b.Size, rule(l.Params[b.Param]))}
		if err := store.AddBlock(block); err != nil {
			return nil, err
		}
	}
	if part == 0 {
		for _, b := range l.Frozen.Blocks {
			if err := store.AddBlock(frozenBlock(l, b)); err != nil {
				return nil, err
			}
		}
	}
	for _, e := range l.Embeddings {
		t, err := table.NewSparse(e.Param, rule(e.Param), table.Options{Numbered: numbered})
		if err != nil {
			return nil, err
		}
		if err := store.AddTable(t); err != nil {
			return nil, err
		}
	}
	return store, nil
}
