package placement

import "github.com/gofleet/gofleet/internal/kernels"

// BlocksOf are the blocks of variable v, in order; none for an open one. The slice is the plan's own.
func (p *Plan) BlocksOf(v int) []Placed {
	return p.Blocks[p.starts[v]:p.starts[v+1]:p.starts[v+1]]
}

// OnServer are the blocks that server s owns, in the plan's order.
func (p *Plan) OnServer(s int) []Placed {
	var own []Placed
	for _, b := range p.Blocks {
		if b.Server == s {
			own = append(own, b)
		}
	}
	return own
}

// Variable is the index of the variable of that name; not ok if the plan has none.
func (p *Plan) Variable(name string) (v int, ok bool) {
	for v, x := range p.Variables {
		if x.Name == name {
			return v, true
		}
	}
	return -1, false
}

// ServerOf is the server that owns row id of variable v, -1 when the variable has no such row. It costs a division:
// blocks of one variable are of one size, the last excepted.
func (p *Plan) ServerOf(v int, id uint64) int {
	if p.Variables[v].Open {
		return int(kernels.Mix(id) % uint64(p.Servers))
	}
	if b := p.BlockOf(v, id); b >= 0 {
		return p.Blocks[p.starts[v]+b].Server
	}
	return -1
}

// BlockOf is the number, in its variable, of the block that holds row id of variable v; -1 when the variable is open or
// has no such row.
func (p *Plan) BlockOf(v int, id uint64) int {
	blocks := p.BlocksOf(v)
	if len(blocks) == 0 || id >= uint64(rows(p.Variables[v].Shape)) {
		return -1
	}
	return int(id / uint64(rows(blocks[0].Shape)))
}

// rows is the first dimension; a scalar is one row.
func rows(shape []int) int {
	if len(shape) == 0 {
		return 1
	}
	return shape[0]
}

// Load is what one server carries of the placed blocks.
type Load struct {
	Blocks, Elements int
}

// Bytes is the room that the elements take as float32, without optimizer state.
func (l Load) Bytes() int64 { return 4 * int64(l.Elements) }

// Loads are the loads of all servers. Rows of open embeddings are not included: they are created during training.
func (p *Plan) Loads() []Load {
	loads := make([]Load, p.Servers)
	for _, b := range p.Blocks {
		loads[b.Server].Blocks++
		loads[b.Server].Elements += b.Size
	}
	return loads
}

// Imbalance is the largest server's elements over the mean: 1 is perfect, and Servers means that one server has
// everything. A plan without elements has 1.
func (p *Plan) Imbalance() float64 {
	total, most := 0, 0
	for _, l := range p.Loads() {
		total += l.Elements
		most = max(most, l.Elements)
	}
	if total == 0 {
		return 1
	}
	return float64(most) * float64(p.Servers) / float64(total)
}
