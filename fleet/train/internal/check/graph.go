package check

import (
	"slices"

	"github.com/gofleet/gofleet/nn"
)

// graph is what a job's graph shows about its feeds.
type graph struct {
	feeds  []string            // in order of construction
	labels []string            // feeds that the loss compares predictions with
	raw    map[string]string   // feeds that reach a layer unscaled: its op
	looked map[string][]string // the feeds that look up a table, by param
	needed map[string]bool     // feeds of the outputs
	group  string              // the feed of groups within which the loss compares rows
	loss   string              // the op that compares
	pred   *nn.Node            // the predictions it compares with labels; nil if not known
}

// readGraph reads the graph of a job.
func readGraph(j Job) graph {
	g := graph{raw: map[string]string{}, looked: map[string][]string{},
		needed: map[string]bool{}, pred: j.Loss.Prediction()}
	trained := behind(j.Loss)
	for _, n := range j.Loss.Graph().Inputs() {
		if _, used := trained[n]; used {
			g.feeds = append(g.feeds, n.Name())
		}
	}
	for n := range trained {
		g.see(n)
	}
	g.labels = slices.Compact(slices.Sorted(slices.Values(g.labels)))
	for n := range behind(j.Outputs...) {
		if n.Op() == "input" {
			g.needed[n.Name()] = true
		}
	}
	return g
}

// see records what one node does with its inputs.
func (g *graph) see(n *nn.Node) {
	in := n.Inputs()
	compares := len(in) > 1 && (compares[n.Op()] || slices.Contains(in, g.pred))
	for i, of := range in {
		for _, feed := range sources(of) {
			switch {
			case n.Op() == "group_pairs" && i == 2: // whose rows are compared
				g.group = feed.Name()
			case compares:
				g.labels, g.loss = append(g.labels, feed.Name()), n.Op()
			case !passesOn[n.Op()] && !scales[n.Op()]:
				g.raw[feed.Name()] = n.Op()
			}
		}
	}
	if table := slices.IndexFunc(in, func(of *nn.Node) bool { return of.Op() == "table" }); table > 0 &&
		in[0].Op() == "input" {
		g.looked[in[table].Name()] = append(g.looked[in[table].Name()], in[0].Name())
	}
}

// compares are ops that compare predictions with labels.
var compares = map[string]bool{"binary_cross_entropy": true, "binary_cross_entropy_with_logits": true, "log_loss": true,
	"cross_entropy": true, "softmax_with_cross_entropy": true, "square_error": true, "absolute_error": true,
	"smooth_l1": true, "hinge": true, "focal_loss": true, "contrastive": true, "group_pairs": true}

// passesOn are ops that rearrange numbers without changing them; scales are ops after which numbers have another size.
var (
	passesOn = map[string]bool{"concat": true, "reshape": true, "slice": true, "transpose": true, "expand": true,
		"gather": true, "cast": true, "dropout": true}
	scales = map[string]bool{"batch_norm": true, "layer_norm": true, "log": true, "log1p": true, "scale": true,
		"clip": true, "divide": true, "tanh": true, "sigmoid": true, "embedding": true, "embedding_pool": true,
		"embedding_sequence": true, "sequence_mask": true, "weighted_mean": true, "class_weights": true}
)

// sources are the feeds whose numbers a node has unchanged, alone or with those of others.
func sources(n *nn.Node) (feeds []*nn.Node) {
	switch {
	case n.Op() == "input":
		return []*nn.Node{n}
	case passesOn[n.Op()]:
		for _, in := range n.Inputs() {
			feeds = append(feeds, sources(in)...)
		}
	}
	return feeds
}

// behind are nodes and everything that they are computed from.
func behind(nodes ...*nn.Node) map[*nn.Node]bool {
	found, nodes := map[*nn.Node]bool{}, slices.Clone(nodes)
	for len(nodes) > 0 {
		n := nodes[len(nodes)-1]
		if nodes = nodes[:len(nodes)-1]; !found[n] {
			found[n] = true
			nodes = append(nodes, n.Inputs()...)
		}
	}
	return found
}
