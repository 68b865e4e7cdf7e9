package placement

import (
	"cmp"
	"fmt"
	"slices"
)

// Policy gives every block a server.
//
// Contract: Place returns one server index in [0, servers) for each block, in the blocks' order. It is a pure function
// of its arguments, because every process of a job computes the placement for itself: no state, no randomness, no
// clock. It gets all blocks of the model at once, variable after variable, and does not change them. servers is at
// least 1.
type Policy interface {
	// Name identifies the policy in a strategy and in messages.
	Name() string
	Place(blocks []Block, servers int) []int
}

// RoundRobin deals blocks to servers in turn. The turn runs on from one variable to the next, so small variables spread
// too. It is the default.
type RoundRobin struct{}

// Name implements [Policy].
func (RoundRobin) Name() string { return "RoundRobin" }

// Place implements [Policy].
func (RoundRobin) Place(blocks []Block, servers int) []int {
	at := make([]int, len(blocks))
	for i := range at {
		at[i] = i % servers
	}
	return at
}

// HashName places a block by the hash of its name modulo the number of servers: a block's server does not depend on the
// other variables of the model. The hash is that of CPython 2.7 strings on 64 bits, which is the same in every process.
type HashName struct{}

// Name implements [Policy].
func (HashName) Name() string { return "HashName" }

// Place implements [Policy].
func (HashName) Place(blocks []Block, servers int) []int {
	at := make([]int, len(blocks))
	for i, b := range blocks {
		at[i] = floorMod(hashString(b.Name), servers)
	}
	return at
}

// Balanced puts one block after the other, from the largest to the smallest, on the server that has the fewest elements
// so far. Use it for models with few large variables that are not cut, by choice or because their rule needs them
// whole: the fullest server has at most 4/3 of the optimum. Graham, "Bounds on Multiprocessing Timing Anomalies", SIAM
// J. Appl. Math. 17, 1969.
type Balanced struct{}

// Name implements [Policy].
func (Balanced) Name() string { return "Balanced" }

// Place implements [Policy].
func (Balanced) Place(blocks []Block, servers int) []int {
	order := make([]int, len(blocks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(blocks[b].Size, blocks[a].Size) })
	at, load := make([]int, len(blocks)), make([]int, servers)
	for _, i := range order {
		at[i] = slices.Index(load, slices.Min(load))
		load[at[i]] += blocks[i].Size
	}
	return at
}

// Policies are the policies of this package, which every strategy can name.
func Policies() []Policy { return []Policy{RoundRobin{}, HashName{}, Balanced{}} }

// place asks the policy and does not trust the answer.
func place(p Policy, blocks []Block, servers int) ([]int, error) {
	at := p.Place(blocks, servers)
	if len(at) != len(blocks) {
		return nil, fmt.Errorf("placement: policy %q placed %d of %d blocks; it must give each block one server",
			p.Name(), len(at), len(blocks))
	}
	for i, s := range at {
		if s < 0 || s >= servers {
			return nil, fmt.Errorf("placement: policy %q put block %q on server %d, but servers are 0 to %d",
				p.Name(), blocks[i].Name, s, servers-1)
		}
	}
	return at, nil
}
