package twin

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Names of the model's params beside its tables.
const (
	ledgerName = "ledger"
	hidden     = "hidden.w_0"
	hiddenBias = "hidden.b_0"
	out        = "out.w_0"
	outBias    = "out.b_0"
)

// variables are the names of the dense params that rules change.
func (n Net) variables() []string {
	all := []string{hidden, hiddenBias, out, outBias}
	if n.Norm > 0 {
		all = append(all, normScale, normShift)
	}
	return all
}

// Dropout's input is shorter times the hidden layer and lifted: no number that it keeps is 0, and what it makes of one
// is no larger than without it, so that the same rates train and don't diverge.
const (
	lifted  = 0.5
	shorter = 0.25
)

// spread is how far from 0 first values are.
const spread = 0.3

// params are the names of all params, without the ledger.
func (n Net) params() []string {
	all := n.variables()
	for _, t := range n.Tables {
		all = append(all, t.Name)
	}
	return all
}

func (n Net) isTable(name string) bool {
	return name == ledgerName || slices.ContainsFunc(n.Tables, func(t Table) bool { return t.Name == name })
}

// tables are all tables, the ledger the last.
func (n Net) tables() []Table {
	all := slices.Clone(n.Tables)
	if n.Ledger {
		all = append(all, Table{Name: ledgerName, Dim: 1, Slots: 1})
	}
	return all
}

// counts says whether a table lets not every id in at once.
func (n Net) counts() bool {
	return slices.ContainsFunc(n.Tables, func(t Table) bool { return t.waits() || t.Chance > 0 })
}

// wide says whether a table's rows are so wide that a frame holds few.
func (n Net) wide() bool {
	return slices.ContainsFunc(n.Tables, func(t Table) bool { return t.Dim > 100 })
}

// rates says whether a table rates its rows by shows and clicks.
func (n Net) rates() bool {
	return slices.ContainsFunc(n.Tables, func(t Table) bool { return t.Score > 0 })
}

// waits says whether ids of a table wait until pushes have counted enough.
func (t Table) waits() bool { return t.Count > 1 || t.Score > 0 }

// enough says whether what is known of an id that waits is enough for a row.
func (t Table) enough(w waiter) bool {
	if t.Score > 0 {
		return w.score() >= t.Score
	}
	return w.pushes >= t.Count
}

// drawn says whether the lot of an id lets it in.
func (t Table) drawn(seed, id uint64) bool {
	const lots = 0x6c6f7473
	key := stream(seed^lots, t.Name) ^ scramble(id+1)
	return t.Chance == 0 || float64(scramble(key+0x9e3779b97f4a7c15)>>11)/(1<<53) < t.Chance
}

// width is the number of inputs of the hidden layer.
func (n Net) width() int {
	width := n.Inputs
	for _, t := range n.Tables {
		width += t.Dim * t.Slots
	}
	return width
}

// size is how many numbers a variable has.
func (n Net) size(name string) int {
	return map[string]int{hidden: n.width() * n.Hidden, hiddenBias: n.Hidden, out: n.Hidden, outBias: 1,
		normScale: n.Inputs, normShift: n.Inputs}[name]
}

// example is a sample: its numbers, ids by table, and a label.
type example struct {
	x     []float32
	ids   [][]uint64
	label float32
	// normal are its numbers as batch norm makes them before it scales and shifts them, nil without.
	normal []float64
}

// example is sample i, the same whenever it is asked for.
func (p Program) example(i int) example {
	r := rand.New(rand.NewPCG(p.Seed, 1000+uint64(i)))
	var e example
	for range p.Net.Inputs {
		e.x = append(e.x, 2*r.Float32()-1)
	}
	for _, t := range p.Net.Tables {
		ids := make([]uint64, t.Slots)
		for k := range ids {
			ids[k] = t.Pool[r.IntN(len(t.Pool))]
		}
		e.ids = append(e.ids, ids)
	}
	if e.label = 2*r.Float32() - 1; p.Net.Bad > 0 && i%p.Net.Bad == 0 {
		e.label = float32(math.NaN())
	}
	return e
}

// clicked is how often a sample is clicked.
func clicked(i int) float32 { return float32(i % 3 / 2) }

// ids are those of a batch in one of tables, example after example.
func (p Program) ids(table int, samples []int) (ids []uint64) {
	for _, i := range samples {
		if table == len(p.Net.Tables) {
			ids = append(ids, uint64(i)) // the ledger's
			continue
		}
		ids = append(ids, p.example(i).ids[table]...)
	}
	return ids
}

// weights are what a forward pass reads.
type weights interface {
	dense(name string) []float64
	// row is a row's weights, as training or an evaluation reads it.
	row(table Table, id uint64) []float64
}

// forward is the prediction of an example, and what backward needs. keep are the factors of dropout, none in an
// evaluation; h is before it. Noise, if any, is what rounding does to each term of a sum, and to h: where terms cancel
// out, or h is nearly 1, it is much of what is left.
func (n Net) forward(w weights, e example, keep []float64, noise *rand.Rand) (y float64, z, h []float64) {
	for i, x := range e.x {
		if n.Norm == 0 {
			z = append(z, float64(x))
			continue
		}
		z = append(z, roughly(e.normal[i], noise)*w.dense(normScale)[i]+w.dense(normShift)[i])
	}
	for t, ids := range e.ids {
		for _, id := range ids {
			z = append(z, w.row(n.Tables[t], id)...)
		}
	}
	h = copied(w.dense(hiddenBias))
	for i, x := range z {
		for k := range h {
			h[k] += roughly(x*w.dense(hidden)[i*n.Hidden+k], noise)
		}
	}
	y = w.dense(outBias)[0]
	for k := range h {
		h[k] = roughly(math.Tanh(h[k]), noise)
		y += roughly(n.leaves(h[k], keep, k)*w.dense(out)[k], noise)
	}
	return y, z, h
}

// roughly is a number as float32 might have it.
func roughly(x float64, noise *rand.Rand) float64 {
	if noise == nil {
		return x
	}
	return x + x*(2*noise.Float64()-1)/(1<<23)
}

// leaves is what dropout leaves of a number of the hidden layer.
func (n Net) leaves(h float64, keep []float64, k int) float64 {
	if n.Drop > 0 {
		h = shorter*h + lifted
	}
	return h * factor(keep, k)
}

// factor is that of dropout on a number of the hidden layer.
func factor(keep []float64, k int) float64 {
	if keep == nil {
		return 1
	}
	return keep[k]
}

// gradient is that of a batch's mean loss, or of several together.
type gradient struct {
	samples int
	dense   map[string][]float64
	rows    map[string]map[uint64][]float64
	marks   map[string]map[uint64]marks // of rows that are rated
}

// marks are shows and clicks.
type marks struct{ shows, clicks float64 }

func (m marks) plus(n marks) marks { return marks{m.shows + n.shows, m.clicks + n.clicks} }

func (m marks) times(x float64) marks { return marks{m.shows * x, m.clicks * x} }

// score is that of an id, a show alone a tenth of a click.
func (m marks) score() float64 { return 0.1*(m.shows-m.clicks) + m.clicks }

func newGradient() *gradient {
	return &gradient{dense: map[string][]float64{}, rows: map[string]map[uint64][]float64{},
		marks: map[string]map[uint64]marks{}}
}

func (g *gradient) mark(table string, id uint64, m marks) {
	if g.marks[table] == nil {
		g.marks[table] = map[uint64]marks{}
	}
	g.marks[table][id] = g.marks[table][id].plus(m)
}

func add(to *[]float64, scale float64, x []float64) {
	if *to == nil {
		*to = make([]float64, len(x))
	}
	for i, v := range x {
		(*to)[i] += scale * v
	}
}

func (g *gradient) addDense(name string, scale float64, x []float64) {
	sum := g.dense[name]
	add(&sum, scale, x)
	g.dense[name] = sum
}

func (g *gradient) addRow(table string, id uint64, scale float64, x []float64) {
	if g.rows[table] == nil {
		g.rows[table] = map[uint64][]float64{}
	}
	sum := g.rows[table][id]
	add(&sum, scale, x)
	g.rows[table][id] = sum
}

// backward adds the gradient of an example's loss, the square of y − label, and of its line in the ledger, times
// scale.
func (n Net) backward(g *gradient, w weights, e example, keep []float64, scale float64, noise *rand.Rand) {
	y, z, h := n.forward(w, e, keep, noise)
	dy := roughly(2*(y-float64(e.label))*scale, noise)
	g.addDense(outBias, dy, []float64{1})
	left := copied(h)
	for k := range left {
		left[k] = n.leaves(h[k], keep, k)
	}
	g.addDense(out, dy, left)
	dh, dw := make([]float64, len(h)), make([]float64, len(z)*len(h))
	dz := make([]float64, len(z))
	slope := 1.0
	if n.Drop > 0 {
		slope = shorter
	}
	for k := range h {
		dh[k] = roughly(slope*dy*w.dense(out)[k]*factor(keep, k)*(1-h[k]*h[k]), noise)
		for i := range z {
			dw[i*len(h)+k] = dh[k] * z[i]
			dz[i] += roughly(dh[k]*w.dense(hidden)[i*len(h)+k], noise)
		}
	}
	g.addDense(hiddenBias, 1, dh)
	g.addDense(hidden, 1, dw)
	if n.Norm > 0 {
		dScale := make([]float64, n.Inputs)
		for i, x := range e.normal {
			dScale[i] = roughly(dz[i]*x, noise)
		}
		g.addDense(normScale, 1, dScale)
		g.addDense(normShift, 1, dz[:n.Inputs])
	}
	at := n.Inputs
	for t, ids := range e.ids {
		for _, id := range ids {
			g.addRow(n.Tables[t].Name, id, 1, dz[at:at+n.Tables[t].Dim])
			at += n.Tables[t].Dim
		}
	}
}

// batch is the gradient of a batch's mean loss, and its predictions. kept are the factors of dropout, example after
// example.
func (p Program) batch(w weights, samples []int, kept []float64, noise *rand.Rand) (g *gradient, y []float64) {
	g = newGradient()
	g.samples = len(samples)
	of := p.moments(samples)
	for at, i := range samples {
		e, keep := p.example(i).normalised(of), []float64(nil)
		if n := p.Net.Hidden; len(kept) == n*len(samples) {
			keep = kept[at*n:][:n]
		}
		own, _, _ := p.Net.forward(w, e, keep, nil)
		y = append(y, own)
		p.Net.backward(g, w, e, keep, 1/float64(len(samples)), noise)
		for t, ids := range e.ids {
			for _, id := range ids {
				if own := p.Net.Tables[t]; own.Clicks {
					g.mark(own.Name, id, marks{1, float64(clicked(i))})
				}
			}
		}
		if p.Net.Ledger {
			g.addRow(ledgerName, uint64(i), 1, []float64{-1})
		}
	}
	for _, t := range p.Net.Tables {
		for id := range g.rows[t.Name] {
			if t.Score > 0 && !t.Clicks { // of which nothing is fed: a step shows a row once
				g.mark(t.Name, id, marks{shows: 1})
			}
		}
	}
	return g, y
}
