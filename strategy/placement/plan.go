package placement

import (
	"errors"
	"fmt"
	"slices"
)

// Variable describes a variable to be placed.
type Variable struct {
	Name string
	// Shape has positive dimensions. An open embedding has shape [0 dim].
	Shape []int
	// Whole forbids cutting: the update rule needs the variable in one piece.
	Whole bool
	// Open marks an embedding without a height: every uint64 is an id, and rows are spread over all servers by [Mix].
	Open bool
	// RowBytes is the memory of a row on its server, with optimizer state and its place in the index; 0 if not known or
	// not an embedding's. An embedding's MaxBytes counts rows at it.
	RowBytes int
	// MostRows is the number of rows that fit into an embedding's MaxBytes on each server; 0 without that bound.
	MostRows int64
}

// Options of a plan. The zero value is ready to use.
type Options struct {
	// Policy gives blocks their servers; nil means [RoundRobin].
	Policy Policy
	// MinBlockSize is the smallest block in elements; 0 means [DefaultMinBlockSize]. A smaller one costs more messages
	// than it balances and is refused unless SmallBlocks is set.
	MinBlockSize int
	// SmallBlocks permits a MinBlockSize below the default, as tests of small models need.
	SmallBlocks bool
	// NoSlice leaves every variable in one block.
	NoSlice bool
}

// Placed is a block and where it lives.
type Placed struct {
	Block
	// Variable is the index of the block's variable in the plan.
	Variable int
	// Server is the index of the server that owns the block.
	Server int
}

// Plan says where everything lives. It comes from [New] and does not change; all methods may be called concurrently.
type Plan struct {
	// Servers is the number of servers.
	Servers int
	// Policy is the name of the policy that placed the blocks.
	Policy string
	// Variables are New's, in their order.
	Variables []Variable
	// Blocks are all blocks, variable after variable, each variable's in order. Open variables have none.
	Blocks []Placed

	// starts[v] and starts[v+1] bound the blocks of variable v.
	starts []int
}

// New cuts the variables and places their blocks on the given number of servers. The order of vars matters: it is the
// order in which blocks are dealt out, so it must be the same in every process of a job.
func New(vars []Variable, servers int, o Options) (*Plan, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if servers < 1 {
		return nil, fmt.Errorf("placement: %d servers; a plan needs at least 1", servers)
	}
	if err := check(vars); err != nil {
		return nil, err
	}
	p := &Plan{Servers: servers, Policy: o.Policy.Name(), Variables: clone(vars), starts: []int{0}}
	if err := p.fill(o); err != nil {
		return nil, err
	}
	return p, nil
}

func (o Options) withDefaults() (Options, error) {
	if o.Policy == nil {
		o.Policy = RoundRobin{}
	}
	switch {
	case o.MinBlockSize == 0:
		o.MinBlockSize = DefaultMinBlockSize
	case o.MinBlockSize < 0:
		return o, fmt.Errorf("placement: MinBlockSize is %d; it counts elements", o.MinBlockSize)
	case o.MinBlockSize < DefaultMinBlockSize && !o.SmallBlocks:
		return o, fmt.Errorf("placement: MinBlockSize is %d, below %d; set SmallBlocks if that is meant",
			o.MinBlockSize, DefaultMinBlockSize)
	}
	return o, nil
}

// fill cuts and places.
func (p *Plan) fill(o Options) error {
	var blocks []Block
	var owner []int
	for v, x := range p.Variables {
		cut := x.blocks(p.Servers, o)
		blocks = append(blocks, cut...)
		owner = append(owner, slices.Repeat([]int{v}, len(cut))...)
		p.starts = append(p.starts, len(blocks))
	}
	if err := checkBlocks(blocks); err != nil {
		return err
	}
	at, err := place(o.Policy, slices.Clone(blocks), p.Servers)
	if err != nil {
		return err
	}
	p.Blocks = make([]Placed, len(blocks))
	for i, b := range blocks {
		p.Blocks[i] = Placed{Block: b, Variable: owner[i], Server: at[i]}
	}
	return nil
}

func (v Variable) blocks(servers int, o Options) []Block {
	switch {
	case v.Open:
		return nil
	case v.Whole || o.NoSlice:
		return Slice(v.Name, v.Shape, 1, o.MinBlockSize)
	}
	return Slice(v.Name, v.Shape, servers, o.MinBlockSize)
}

func clone(vars []Variable) []Variable {
	vars = slices.Clone(vars)
	for i := range vars {
		vars[i].Shape = slices.Clone(vars[i].Shape)
	}
	return vars
}

// check finds what is wrong with the variables.
func check(vars []Variable) error {
	seen := make(map[string]bool, len(vars))
	for i, v := range vars {
		if v.Name == "" {
			return fmt.Errorf("placement: variable %d has no name", i)
		}
		if seen[v.Name] {
			return fmt.Errorf("placement: two variables are called %q", v.Name)
		}
		seen[v.Name] = true
		if err := v.check(); err != nil {
			return fmt.Errorf("placement: variable %q: %w", v.Name, err)
		}
	}
	return nil
}

func (v Variable) check() error {
	if !v.Open {
		if _, ok := elements(v.Shape); !ok {
			return fmt.Errorf("shape %v needs positive dimensions and a product that fits an int", v.Shape)
		}
		return nil
	}
	if len(v.Shape) != 2 || v.Shape[0] != 0 || v.Shape[1] < 1 {
		return fmt.Errorf("shape %v is not an open embedding's, which is [0 dim]", v.Shape)
	}
	if v.Whole {
		return errors.New("rows of an open embedding are spread over all servers, so it can't be kept whole")
	}
	return nil
}

// checkBlocks finds a variable that is called like another one's block.
func checkBlocks(blocks []Block) error {
	owner := make(map[string]string, len(blocks))
	for _, b := range blocks {
		if other, taken := owner[b.Name]; taken {
			return fmt.Errorf("placement: %q is a block of both variable %q and variable %q; rename one", b.Name, other,
				b.Var)
		}
		owner[b.Name] = b.Var
	}
	return nil
}
