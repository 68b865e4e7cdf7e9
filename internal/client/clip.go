package client

import (
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// clipper clips a step's gradients by norm on the worker, where a push is an update by itself. In mode sync servers
// do it, since the rule is for the gradient of a whole round.
type clipper struct {
	rule   optimizer.Rule     // nil: nothing to do
	params []*optimizer.Param // stand for the session's, with the gradients that are left of theirs
	rows   []optimizer.Rows
}

func newClipper(c *Client) clipper {
	if _, clips := optimizer.ClipperOf(c.c.Rule); !clips || c.c.Strategy.Mode == strategy.ModeSync {
		return clipper{}
	}
	k := clipper{rule: c.c.Rule, rows: make([]optimizer.Rows, len(c.c.Layout.Embeddings))}
	for _, p := range c.c.Layout.Params {
		own := *p
		k.params = append(k.params, &own)
	}
	for e, i := range c.c.Layout.Embeddings {
		k.rows[e].Param = k.params[i]
	}
	return k
}

// clip changes the gradients in place, dense by param and rows by embedding.
func (k *clipper) clip(dense [][]float32, push []rows) {
	if k.rule == nil {
		return
	}
	for i, g := range dense {
		k.params[i].G = g
	}
	for e, r := range push {
		k.rows[e].IDs, k.rows[e].G = r.ids, r.data
	}
	optimizer.ClipGradients(k.rule, k.params, k.rows)
}
