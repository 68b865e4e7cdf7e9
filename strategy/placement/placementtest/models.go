package placementtest

import (
	"fmt"

	"github.com/gofleet/gofleet/strategy/placement"
)

// model is a list of variables to place.
type model struct {
	name string
	vars []variable
}

type variable struct {
	name  string
	shape []int
}

// blocks are the model's blocks as a plan would cut them.
func (m model) blocks(servers int) []placement.Block {
	var all []placement.Block
	for _, v := range m.vars {
		all = append(all, placement.Slice(v.name, v.shape, servers, 0)...)
	}
	return all
}

func models() []model {
	return []model{
		{name: "an empty model"},
		{"one scalar", []variable{{"bias", []int{1}}}},
		{"a small network", []variable{
			{"w1", []int{784, 128}}, {"b1", []int{128}}, {"w2", []int{128, 128}},
			{"b2", []int{128}}, {"w3", []int{128, 10}}, {"b3", []int{10}},
		}},
		{"an embedding", []variable{{"emb", []int{1000001, 10}}, {"fc.w", []int{273, 400}}, {"fc.b", []int{400}}}},
		{"a deep network", deep(200)},
	}
}

func deep(layers int) []variable {
	var vars []variable
	for i := range layers {
		vars = append(vars,
			variable{fmt.Sprintf("fc_%d.w_0", i), []int{8 + i, 1000}},
			variable{fmt.Sprintf("fc_%d.b_0", i), []int{8 + i}})
	}
	return vars
}
