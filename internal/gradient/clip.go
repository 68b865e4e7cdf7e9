package gradient

import (
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
)

// Clipper clips a worker's gradients as a rule asks. It clips by norm if a push is an update of its own; in a round the
// mean of all workers' gradients is clipped instead, on servers. It clips by value if pushes may be added up on their
// way, since limits hold for each gradient. Servers, or the tables of a process, do all other clipping.
type Clipper struct {
	rule   optimizer.Rule     // with a clip by norm; nil for none
	params []*optimizer.Param // copies of the thread's params, whose G is clipped
	rows   []optimizer.Rows   // by embedding
	// The rules whose clips by value the worker applies, by param and by embedding; nil for none.
	dense, sparse []optimizer.Rule
}

// NewClipper returns a clipper of params for a rule: by norm, by value, both or none.
func NewClipper(params []*optimizer.Param, rule optimizer.Rule, byNorm, byValue bool) *Clipper {
	k := new(Clipper)
	if _, clips := rules.ClipperOf(rule); clips && byNorm {
		k.rule = rule
	}
	for _, p := range params {
		own, limit := *p, rules.For(rule, p)
		if !byValue || !rules.Additive(limit) {
			limit = nil
		}
		k.params, k.dense = append(k.params, &own), append(k.dense, limit)
		if p.Embedding {
			k.rows, k.sparse = append(k.rows, optimizer.Rows{Param: &own}), append(k.sparse, limit)
		}
	}
	return k
}

// Clip changes a step's gradients in place.
func (k *Clipper) Clip(s Step) {
	if k.rule != nil {
		k.byNorm(s)
	}
	for i, g := range s.Dense {
		rules.Limit(k.dense[i], g)
	}
	for e, r := range s.Rows {
		rules.Limit(k.sparse[e], r.G)
	}
}

func (k *Clipper) byNorm(s Step) {
	for i, g := range s.Dense {
		k.params[i].G = g
	}
	for e, r := range s.Rows {
		k.rows[e].IDs, k.rows[e].G = r.IDs, r.G
	}
	rules.ClipGradients(k.rule, k.params, k.rows)
}
