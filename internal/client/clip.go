package client

import (
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// clipper clips a step's gradients on the worker: by their norms, where a push is an update by itself, and by value, where pushes may
// be added up and the limits hold for each. In mode sync servers do both, since the rule is for the gradient of a whole round.
type clipper struct {
	rule   optimizer.Rule     // with a clip by norm; nil: nothing to do
	params []*optimizer.Param // stand for the session's, with the gradients that are left of theirs
	rows   []optimizer.Rows
	limits []optimizer.Rule // by param, nil without
	tables []layout.Embedding
}

func newClipper(c *Client) clipper {
	k := clipper{limits: limits(c), tables: c.c.Layout.Embeddings}
	if _, clips := optimizer.ClipperOf(c.c.Rule); !clips || c.c.Strategy.Mode == strategy.ModeSync {
		return k
	}
	k.rule, k.rows = c.c.Rule, make([]optimizer.Rows, len(c.c.Layout.Embeddings))
	for _, p := range c.c.Layout.Params {
		own := *p
		k.params = append(k.params, &own)
	}
	for e := range c.c.Layout.Embeddings {
		k.rows[e].Param = k.params[c.c.Layout.Embeddings[e].Index]
	}
	return k
}

// limits are the rules, by param, whose clips by value are the workers' part.
func limits(c *Client) []optimizer.Rule {
	all := make([]optimizer.Rule, len(c.c.Layout.Params))
	for i, p := range c.c.Layout.Params {
		if r := optimizer.RuleFor(c.c.Rule, p); optimizer.Additive(r) && c.c.Strategy.Sums(true) {
			all[i] = r
		}
	}
	return all
}

// clip changes the gradients in place, dense by param and rows by embedding.
func (k *clipper) clip(dense [][]float32, push []rows) {
	k.byNorm(dense, push)
	for i, g := range dense {
		optimizer.Limit(k.limits[i], g)
	}
	for e, r := range push {
		optimizer.Limit(k.limits[k.tables[e].Index], r.data)
	}
}

func (k *clipper) byNorm(dense [][]float32, push []rows) {
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
