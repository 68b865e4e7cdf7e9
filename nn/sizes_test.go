package nn

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// sizedCase is an op at sizes that are drawn: n examples, and dimensions from 1 to 37.
type sizedCase struct {
	name string
	make func(n int, d func() int) gradientCase
}

// sizedCases are ops of values of any shape. Each of them also sits, at one size, in gradientCases.
var sizedCases = slices.Concat(broadcastCases(), shapeCases, formulaCases(), matrixCases)

func init() {
	for _, c := range sizedCases {
		g := c.make(3, sizes(1, 4))
		g.name = c.name
		gradientCases = append(gradientCases, g)
	}
}

// sizes draws dimensions up to most, of which few are large.
func sizes(seed uint64, most int) func() int {
	r := rand.New(rand.NewPCG(seed, 1))
	room := most
	return func() int {
		d := 1 + r.IntN(room)
		room = max(1, min(room, 2*most/d/3))
		return d
	}
}

// broadcast64 is a function of pairs of elements, of shapes that are aligned from the right, batch and all, as arrays
// of Python are; lead says whether dimensions are added after the batch, or in front, as a node without a batch has
// them.
func broadcast64(a, b []int, batchedA, batchedB bool, f func(a, b float64) float64) func([][]float64) []float64 {
	rank := max(len(a), len(b))
	if batchedA != batchedB {
		rank = max(rank, min(len(a), len(b))+1)
	}
	align := func(shape []int, batched bool) []int {
		s := slices.Clone(shape)
		at := 0
		if batched {
			at = 1
		}
		for len(s) < rank {
			s = slices.Insert(s, at, 1)
		}
		return s
	}
	a, b = align(a, batchedA), align(b, batchedB)
	out := make([]int, rank)
	for i := range out {
		out[i] = max(a[i], b[i])
	}
	place := func(shape, index []int) int {
		p := 0
		for i, d := range shape {
			p *= d
			if d > 1 {
				p += index[i]
			}
		}
		return p
	}
	return func(in [][]float64) []float64 {
		y := make([]float64, product(out))
		for i := range y {
			index, rest := make([]int, rank), i
			for j := rank - 1; j >= 0; j-- {
				index[j], rest = rest%out[j], rest/out[j]
			}
			y[i] = f(in[0][place(a, index)], in[1][place(b, index)])
		}
		return y
	}
}

func broadcastCases() (cases []sizedCase) {
	type shapes struct {
		name           string
		a, b           func(n, l, d, k int) []int
		fixedA, fixedB bool
	}
	of := func(s ...int) func(n, l, d, k int) []int { // −1 … −4 stand for N, L, D, K
		return func(n, l, d, k int) []int {
			out := slices.Clone(s)
			for i, v := range out {
				if v < 0 {
					out[i] = [...]int{n, l, d, k}[-v-1]
				}
			}
			return out
		}
	}
	const n, l, d, k = -1, -2, -3, -4
	for _, s := range []shapes{
		{"rows by weights", of(n, l, d), of(n, l, 1), false, false},
		{"weights by rows", of(n, l, 1), of(n, l, d), false, false},
		{"rows by a query", of(n, l, d), of(n, d), false, false},
		{"a query by rows", of(n, 1, d), of(n, l, d), false, false},
		{"rows by positions", of(n, l, d), of(l, d), false, true},
		{"by a bias", of(n, l, d), of(d), false, true},
		{"a bias by", of(d), of(n, l, d), true, false},
		{"each by each", of(n, l, 1), of(n, 1, d), false, false},
		{"by one number", of(n, d), of(1), false, true},
		{"scores by a number an example", of(n, k, l, d), of(n, 1, 1, 1), false, false},
		{"heads by a mask", of(n, k, l, d), of(n, 1, 1, d), false, false},
		{"channels", of(n, k, l, d), of(k, 1, 1), false, true},
		{"every other", of(n, k, 1, d), of(n, 1, l, 1), false, false},
		{"parameters", of(l, 1), of(k, 1, d), true, true},
	} {
		for _, o := range []struct {
			name  string
			build func(a, b *Node) *Node
			f     func(a, b float64) float64
		}{
			{"add", Add, func(a, b float64) float64 { return a + b }},
			{"subtract", Subtract, func(a, b float64) float64 { return a - b }},
			{"multiply", Multiply, func(a, b float64) float64 { return a * b }},
			{"divide", Divide, func(a, b float64) float64 { return a / b }},
		} {
			cases = append(cases, sizedCase{o.name + " " + s.name, func(n int, draw func() int) gradientCase {
				l, d, k := draw(), draw(), draw()
				a, b := s.a(n, l, d, k), s.b(n, l, d, k)
				args := []arg{x(a...), x(b...).between(0.5, 2)}
				if s.fixedA {
					args[0].kind = parameter
				}
				if s.fixedB {
					args[1].kind = parameter
				}
				return gradientCase{o.name, args, two(o.build), broadcast64(a, b, !s.fixedA, !s.fixedB, o.f)}
			}})
		}
	}
	return append(cases, sizedCase{"expand", func(n int, draw func() int) gradientCase {
		l, d := draw(), draw()
		first := func(a, _ float64) float64 { return a }
		twin := broadcast64([]int{n, 1, d}, []int{l, d}, true, false, first)
		return gradientCase{"expand", []arg{x(n, 1, d)}, one(func(x *Node) *Node { return Expand(x, l, d) }),
			func(in [][]float64) []float64 { return twin([][]float64{in[0], make([]float64, l*d)}) }}
	}}, sizedCase{"expand a parameter", func(n int, draw func() int) gradientCase {
		l, d := draw(), draw()
		first := func(a, _ float64) float64 { return a }
		twin := broadcast64([]int{d}, []int{l, d}, false, false, first)
		return gradientCase{"expand", []arg{w(d)}, one(func(x *Node) *Node { return Expand(x, l, d) }),
			func(in [][]float64) []float64 { return twin([][]float64{in[0], make([]float64, l*d)}) }}
	}})
}

// moved64 is a value of a shape whose elements are those of the first input at the places that source names.
func moved64(shape []int, source func(at []int) int) func([][]float64) []float64 {
	return func(in [][]float64) []float64 {
		y := make([]float64, product(shape))
		for i := range y {
			y[i] = in[0][source(indexOf(shape, i))]
		}
		return y
	}
}

// indexOf is the index along each axis of element i of a shape.
func indexOf(shape []int, i int) []int {
	at := make([]int, len(shape))
	for j := len(shape) - 1; j >= 0; j-- {
		at[j], i = i%shape[j], i/shape[j]
	}
	return at
}

// joined64 is the twin of joining two values of three axes along one of them.
func joined64(a, b []int, axis int) func([][]float64) []float64 {
	shape := slices.Clone(a)
	shape[axis] += b[axis]
	return func(in [][]float64) []float64 {
		y := make([]float64, product(shape))
		for i := range y {
			at, of, from := indexOf(shape, i), a, in[0]
			if at[axis] >= a[axis] {
				at[axis] -= a[axis]
				of, from = b, in[1]
			}
			y[i] = from[(at[0]*of[1]+at[1])*of[2]+at[2]]
		}
		return y
	}
}

var shapeCases = []sizedCase{
	{"slice", func(n int, draw func() int) gradientCase {
		l, d := draw(), draw()
		from, to := l/3, l/3+(l-l/3+1)/2
		return gradientCase{"slice", []arg{x(n, l, d)}, one(func(x *Node) *Node { return Slice(x, 1, from, to) }),
			moved64([]int{n, to - from, d}, func(at []int) int { return (at[0]*l+from+at[1])*d + at[2] })}
	}},
	{"slice of the last axis", func(n int, draw func() int) gradientCase {
		l, d := draw(), draw()
		return gradientCase{"slice", []arg{x(n, l, d)}, one(func(x *Node) *Node { return Slice(x, 2, d-1, d) }),
			moved64([]int{n, l, 1}, func(at []int) int { return (at[0]*l+at[1])*d + d - 1 })}
	}},
	{"pieces joined the other way round", func(n int, draw func() int) gradientCase {
		a, b := draw(), draw()
		swap := func(x *Node) *Node { p := Split(x, 1, a, b); return Concat(p[1], p[0]) }
		return gradientCase{"split", []arg{x(n, a+b)}, one(swap), moved64([]int{n, a + b}, func(at []int) int {
			return at[0]*(a+b) + (at[1]+a)%(a+b)
		})}
	}},
	{"concat of the last axis", func(n int, draw func() int) gradientCase {
		l, a, b := draw(), draw(), draw()
		return gradientCase{"concat", []arg{x(n, l, a), x(n, l, b)}, two(func(a, b *Node) *Node { return Concat(a, b) }),
			joined64([]int{n, l, a}, []int{n, l, b}, 2)}
	}},
	{"concat of the middle axis", func(n int, draw func() int) gradientCase {
		d, a, b := draw(), draw(), draw()
		return gradientCase{"concat", []arg{x(n, a, d), x(n, b, d)}, two(func(a, b *Node) *Node { return ConcatAxis(1, a, b) }),
			joined64([]int{n, a, d}, []int{n, b, d}, 1)}
	}},
	{"stack", func(n int, draw func() int) gradientCase {
		d := draw()
		return gradientCase{"stack", []arg{x(n, d), x(n, d)}, two(func(a, b *Node) *Node { return Stack(1, a, b) }),
			joined64([]int{n, 1, d}, []int{n, 1, d}, 1)}
	}},
	{"stack behind", func(n int, draw func() int) gradientCase {
		d := draw()
		return gradientCase{"stack", []arg{x(n, d), x(n, d)}, two(func(a, b *Node) *Node { return Stack(2, a, b) }),
			joined64([]int{n, d, 1}, []int{n, d, 1}, 2)}
	}},
	{"transpose", func(n int, draw func() int) gradientCase {
		l, d := draw(), draw()
		return gradientCase{"transpose", []arg{x(n, l, d)}, one(func(x *Node) *Node { return Transpose(x, 0, 2, 1) }),
			moved64([]int{n, d, l}, func(at []int) int { return (at[0]*l+at[2])*d + at[1] })}
	}},
	{"transpose of heads", func(n int, draw func() int) gradientCase {
		l, h, d := draw(), draw(), draw()
		return gradientCase{"transpose", []arg{x(n, l, h, d)}, one(func(x *Node) *Node { return Transpose(x, 0, 2, 1, 3) }),
			moved64([]int{n, h, l, d}, func(at []int) int { return ((at[0]*l+at[2])*h+at[1])*d + at[3] })}
	}},
	{"transpose of a parameter", func(_ int, draw func() int) gradientCase {
		l, d := draw(), draw()
		return gradientCase{"transpose", []arg{w(l, d)}, one(func(x *Node) *Node { return Transpose(x, 1, 0) }),
			moved64([]int{d, l}, func(at []int) int { return at[1]*d + at[0] })}
	}},
	{"gather", func(n int, draw func() int) gradientCase {
		l, d, k := draw(), draw(), draw()
		return gradientCase{"gather", []arg{x(n, l, d), {labels, []int{n, k}, 0, float64(l)}}, two(Gather), func(in [][]float64) []float64 {
			return moved64([]int{n, k, d}, func(at []int) int { return (at[0]*l+int(in[1][at[0]*k+at[1]]))*d + at[2] })(in)
		}}
	}},
	{"gather of one position", func(n int, draw func() int) gradientCase {
		l, d := draw(), draw()
		return gradientCase{"gather", []arg{x(n, l, d), {labels, []int{n}, 0, float64(l)}}, two(Gather), func(in [][]float64) []float64 {
			return moved64([]int{n, d}, func(at []int) int { return (at[0]*l+int(in[1][at[0]]))*d + at[1] })(in)
		}}
	}},
	{"reshape in place", func(n int, draw func() int) gradientCase {
		l, d := draw(), draw()
		return gradientCase{"reshape", []arg{x(n, l*d)}, one(func(x *Node) *Node { return ReLU(Reshape(Scale(x, 2, 0), l, d)) }),
			map1(func(x float64) float64 { return max(2*x, 0) })}
	}},
}

// formulaCases are functions of one element, and what adds up.
func formulaCases() (cases []sizedCase) {
	for _, f := range []struct {
		name   string
		lo, hi float64
		build  func(*Node) *Node
		twin   func(float64) float64
	}{
		{"log", 0.1, 9, Log, math.Log},
		{"log1p", -0.5, 9, Log1p, math.Log1p},
		{"exp", -5, 5, Exp, math.Exp},
		{"sqrt", 0.1, 9, Sqrt, math.Sqrt},
		{"abs", -2, 2, Abs, math.Abs},
		{"square", -2, 2, Square, func(x float64) float64 { return x * x }},
		{"cube", -2, 2, func(x *Node) *Node { return Pow(x, 3) }, func(x float64) float64 { return x * x * x }},
		{"power", 0.1, 3, func(x *Node) *Node { return Pow(x, -1.5) }, func(x float64) float64 { return math.Pow(x, -1.5) }},
		{"silu", -4, 4, SiLU, func(x float64) float64 { return x * sigmoid64(x) }},
	} {
		cases = append(cases, sizedCase{f.name, func(n int, draw func() int) gradientCase {
			return gradientCase{f.name, []arg{x(n, draw(), draw()).between(f.lo, f.hi)}, one(f.build), map1(f.twin)}
		}})
	}
	return append(cases, sizedCase{"prelu", func(n int, draw func() int) gradientCase {
		l, d := draw(), draw()
		slopes := []arg{x(n, l, d), w(d)}
		return gradientCase{"prelu", slopes, two(func(x, s *Node) *Node { return apply("", prelu{}, x, s) }),
			broadcast64([]int{n, l, d}, []int{d}, true, false, func(x, s float64) float64 { return max(x, 0) + s*min(x, 0) })}
	}}, sizedCase{"prelu of channels", func(n int, draw func() int) gradientCase {
		l, d := draw(), draw()
		slopes := []arg{x(n, l, d, 2), w(l, 1, 1)}
		return gradientCase{"prelu", slopes, two(func(x, s *Node) *Node { return apply("", prelu{}, x, s) }),
			broadcast64([]int{n, l, d, 2}, []int{l, 1, 1}, true, false, func(x, s float64) float64 { return max(x, 0) + s*min(x, 0) })}
	}}, sizedCase{"sum", func(n int, draw func() int) gradientCase {
		l, d := draw(), draw()
		return gradientCase{"sum", []arg{x(n, l, d)}, one(func(x *Node) *Node { return Sum(x, 1) }), summed64(l, d, 1)}
	}}, sizedCase{"mean along an axis", func(n int, draw func() int) gradientCase {
		l, d := draw(), draw()
		return gradientCase{"mean", []arg{x(n, l, d)}, one(func(x *Node) *Node { return MeanAxis(x, 1) }), summed64(l, d, 1/float64(l))}
	}}, sizedCase{"mean along the last axis", func(n int, draw func() int) gradientCase {
		l, d := draw(), draw()
		return gradientCase{"mean", []arg{x(n, l, d)}, one(func(x *Node) *Node { return MeanAxis(x, 2) }),
			rowwise(d, func(row []float64) []float64 { return []float64{dot64(row, ones64(d)) / float64(d)} })}
	}})
}

func ones64(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// summed64 adds up l rows of d of each example, times a factor.
func summed64(l, d int, factor float64) func([][]float64) []float64 {
	return rowwise(l*d, func(rows []float64) []float64 {
		y := make([]float64, d)
		for i, v := range rows {
			y[i%d] += factor * v
		}
		return y
	})
}

// TestDice: training normalises by the batch, an evaluation by the averages that training has moved, whatever rows are
// beside.
func TestDice(t *testing.T) {
	for _, positions := range []int{0, 4} {
		g := NewGraph(1)
		shape := []int{8, 3}
		if positions > 0 {
			shape = []int{8, positions, 3}
		}
		y := Dice(g.Input("x", shape[1:]...))
		loss := Mean(Multiply(y, y))
		minimise(t, loss, 0)
		v := uniform(5, product(shape), -3, 3)
		e := NewExecutor(g)
		feed := batchOf{"x": floats(shape, v...)}
		var moved [2][3]float64 // mean and variance after one step from 0 and 1
		want := make([]float64, len(v))
		for unit := range 3 {
			var of []float64
			for i := unit; i < len(v); i += 3 {
				of = append(of, float64(v[i]))
			}
			mean := dot64(of, ones64(len(of))) / float64(len(of))
			for i, n := range normal64(of, 1e-9) {
				want[3*i+unit] = of[i] * sigmoid64(n)
				moved[1][unit] += (of[i] - mean) * (of[i] - mean) / float64(len(of)) * 0.1
			}
			moved[0][unit] = mean * 0.1
			moved[1][unit] += 0.9
		}
		if err := near(must(t, e, feed, y)[0].Float32s(), narrow(want), 1e-5, 1e-6); err != nil {
			t.Errorf("training: %v", err)
		}
		out, err := e.Eval(t.Context(), feed, y)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range v {
			n := (float64(x) - moved[0][i%3]) / math.Sqrt(moved[1][i%3]+1e-9)
			want[i] = float64(x) * sigmoid64(n)
		}
		if err := near(out[0].Float32s(), narrow(want), 1e-5, 1e-6); err != nil {
			t.Errorf("evaluation: %v", err)
		}
	}
}

var matrixCases = []sizedCase{
	{"linear per position", func(n int, draw func() int) gradientCase {
		l, d, out := draw(), draw(), draw()
		return gradientCase{"linear", []arg{x(n, l, d), w(d, out), w(out)},
			func(in []*Node) *Node { return apply("", linear{PerPosition: true}, in...) },
			func(in [][]float64) []float64 {
				y := matmul64(in[0], in[1], d, out)
				for i := range y {
					y[i] += in[2][i%out]
				}
				return y
			}}
	}},
	{"batch_norm and dice", func(n int, draw func() int) gradientCase {
		l, d := 2+draw(), draw()
		return gradientCase{"dice", []arg{x(n, l, d), w(d)}, func(in []*Node) *Node {
			g := in[0].graph
			still := func(v float32) *Node {
				return g.Parameter(ParameterOptions{Init: optimizer.Constant{Value: v}, Frozen: true}, d)
			}
			return apply("", dice{batchNorm{0.1, 0.9, true}}, in[0], still(1), still(0), still(0), still(1), in[1])
		}, func(in [][]float64) []float64 {
			y := make([]float64, len(in[0]))
			for unit := range d {
				var column []float64
				for i := unit; i < len(y); i += d {
					column = append(column, in[0][i])
				}
				for i, v := range normal64(column, 0.1) {
					p := sigmoid64(v)
					y[i*d+unit] = column[i] * (p + (1-p)*in[1][unit])
				}
			}
			return y
		}}
	}},
	{"conv1d of places", func(n int, draw func() int) gradientCase {
		kernel, dilation, places, d, filters := 1+draw()%3, 1+draw()%2, draw(), draw(), draw()
		l := places + (kernel-1)*dilation
		return gradientCase{"conv1d of places", []arg{x(n, l, d), w(kernel*d, filters), w(filters)},
			func(in []*Node) *Node { return apply("", sliding{kernel, dilation}, in...) },
			func(in [][]float64) (y []float64) {
				for i := range n * places * filters {
					v, at := in[2][i%filters], i/filters/places*l+i/filters%places
					for j := range kernel * d {
						v += in[0][(at+j/d*dilation)*d+j%d] * in[1][j*filters+i%filters]
					}
					y = append(y, v)
				}
				return y
			}}
	}},
	{"head_scores", func(n int, draw func() int) gradientCase {
		heads1, q, l, d := 1+draw()%3, draw(), draw(), draw()
		return gradientCase{"head_scores", []arg{x(n, q, heads1*d), x(n, l, heads1*d)},
			func(in []*Node) *Node { return apply("", headScores{heads{heads1}}, in...) },
			func(in [][]float64) (y []float64) {
				eachHead(n, heads1, q, l, func(i, head, row, at int) {
					y = append(y, dot64(in[0][((i*q+row)*heads1+head)*d:][:d], in[1][((i*l+at)*heads1+head)*d:][:d]))
				})
				return y
			}}
	}},
	{"head_mix", func(n int, draw func() int) gradientCase {
		heads1, q, l, d := 1+draw()%3, draw(), draw(), draw()
		return gradientCase{"head_mix", []arg{x(n, heads1, q, l), x(n, l, heads1*d)},
			func(in []*Node) *Node { return apply("", headMix{heads{heads1}}, in...) },
			func(in [][]float64) []float64 {
				y := make([]float64, n*q*heads1*d)
				eachHead(n, heads1, q, l, func(i, head, row, at int) {
					for j, v := range in[1][((i*l+at)*heads1+head)*d:][:d] {
						y[((i*q+row)*heads1+head)*d+j] += v * in[0][((i*heads1+head)*q+row)*l+at]
					}
				})
				return y
			}}
	}},
	{"pairs", func(n int, draw func() int) gradientCase {
		l, d := draw(), draw()
		return gradientCase{"pairs", []arg{x(n, d), x(n, l, d)}, func(in []*Node) *Node { return apply("", pairs{}, in...) },
			func(in [][]float64) (y []float64) {
				for i := range n * l {
					q, k := in[0][i/l*d:][:d], in[1][i*d:][:d]
					y = append(append(y, q...), k...)
					y = append(append(y, map2(func(a, b float64) float64 { return a - b })([][]float64{q, k})...),
						map2(func(a, b float64) float64 { return a * b })([][]float64{q, k})...)
				}
				return y
			}}
	}},
	{"batch_norm of the last dimension", func(n int, draw func() int) gradientCase {
		l, d := 2+draw(), draw()
		return gradientCase{"batch_norm of images", []arg{x(n, l, d), w(d), w(d)}, func(in []*Node) *Node {
			frozen := ParameterOptions{Init: optimizer.Constant{Value: 1}, Frozen: true}
			still := in[0].graph.Parameter(frozen, d)
			return apply("", batchNorm{1e-3, 0.9, true}, in[0], in[1], in[2], still, still)
		}, batchNorm64(d, 1)}
	}},
	{"products of matrices", func(n int, draw func() int) gradientCase {
		m, k, p := draw(), draw(), draw()
		return gradientCase{"matmul", []arg{x(n, m, k), x(n, k, p)}, two(MatMul), matmuls64(m, k, p)}
	}},
	{"products of heads", func(n int, draw func() int) gradientCase {
		h, m, k, p := draw(), draw(), draw(), draw()
		return gradientCase{"matmul", []arg{x(n, h, m, k), x(n, h, k, p)}, two(MatMul), matmuls64(m, k, p)}
	}},
	{"products with transposed matrices", func(n int, draw func() int) gradientCase {
		m, k, p := draw(), draw(), draw()
		return gradientCase{"matmul", []arg{x(n, m, k), x(n, p, k)}, two(MatMulT), func(in [][]float64) []float64 {
			turned := moved64([]int{n, k, p}, func(at []int) int { return (at[0]*p+at[2])*k + at[1] })
			return matmuls64(m, k, p)([][]float64{in[0], turned(in[1:])})
		}}
	}},
	{"layer_norm per position", func(n int, draw func() int) gradientCase {
		l, d := draw(), 1+draw()
		return gradientCase{"layer_norm", []arg{x(n, l, d), w(d), w(d)},
			func(in []*Node) *Node { return apply("", layerNorm{Epsilon: 0.1, Axis: 2}, in...) },
			func(in [][]float64) []float64 {
				y := rowwise(d, func(row []float64) []float64 { return normal64(row, 0.1) })(in)
				for i := range y {
					y[i] = y[i]*in[1][i%d] + in[2][i%d]
				}
				return y
			}}
	}},
	{"layer_norm without scale", func(n int, draw func() int) gradientCase {
		d := 1 + draw()
		return gradientCase{"layer_norm", []arg{x(n, d)}, one(func(x *Node) *Node { return apply("", layerNorm{Epsilon: 0.1}, x) }),
			rowwise(d, func(row []float64) []float64 { return normal64(row, 0.1) })}
	}},
	{"group_norm", func(n int, draw func() int) gradientCase {
		groups, each, positions := draw(), 1+draw(), draw()
		return gradientCase{"group_norm", []arg{x(n, groups*each, positions)},
			one(func(x *Node) *Node { return GroupNorm(x, groups, NormOptions{Epsilon: 0.1}) }),
			rowwise(each*positions, func(row []float64) []float64 { return normal64(row, 0.1) })}
	}},
	{"gru", func(n int, draw func() int) gradientCase { return recurrentCase(gru{}, n, draw(), draw(), true, gru64) }},
	{"gru without a mask", func(n int, draw func() int) gradientCase {
		return recurrentCase(gru{}, n, draw(), draw(), false, gru64)
	}},
	{"lstm", func(n int, draw func() int) gradientCase {
		return recurrentCase(lstm{}, n, draw(), draw(), true, lstm64)
	}},
	{"lstm without a mask", func(n int, draw func() int) gradientCase {
		return recurrentCase(lstm{}, n, draw(), draw(), false, lstm64)
	}},
	{"gru reversed", func(n int, draw func() int) gradientCase {
		return recurrentCase(gru{direction{true}}, n, draw(), draw(), true, gru64)
	}},
	{"lstm reversed", func(n int, draw func() int) gradientCase {
		return recurrentCase(lstm{direction{true}}, n, draw(), draw(), true, lstm64)
	}},
	{"fm", func(n int, draw func() int) gradientCase {
		f, d := draw(), draw()
		return gradientCase{"fm", []arg{x(n, f, d)}, one(FM), rowwise(f*d, func(row []float64) []float64 {
			sum := 0.0
			for i := range f {
				for j := range i {
					sum += dot64(row[i*d:(i+1)*d], row[j*d:(j+1)*d])
				}
			}
			return []float64{sum}
		})}
	}},
	{"masked_softmax", func(n int, draw func() int) gradientCase {
		h, l := draw(), draw()
		return gradientCase{"masked_softmax", []arg{x(n, h, l), {labels, []int{n, l}, 0, 3}},
			two(func(x, mask *Node) *Node { return MaskedSoftmax(x, Cast(mask, Float32)) }),
			func(in [][]float64) []float64 {
				y := make([]float64, n*h*l)
				for row := range n * h {
					sum, mask := 0.0, in[1][row/h*l:]
					for i := range l {
						if mask[i] != 0 {
							y[row*l+i] = math.Exp(in[0][row*l+i])
							sum += y[row*l+i]
						}
					}
					for i := range l {
						if mask[i] != 0 {
							y[row*l+i] /= sum
						}
					}
				}
				return y
			}}
	}},
}

// recurrentCase has given gates, and a mask of which a quarter is 0, or none.
func recurrentCase(unit recurrent, n, l, h int, masked bool, twin func(own, x, state, memory []float64)) gradientCase {
	width := unit.gates() * h
	args := []arg{x(n, l, width), w(h, width), w(width)}
	if masked {
		args = append(args, arg{labels, []int{n, l}, 0, 4})
	}
	build := func(in []*Node) *Node {
		in = slices.Clone(in)
		if masked {
			in[3] = Cast(in[3], Float32)
		}
		return apply("", unit, in...)
	}
	return gradientCase{unit.kind(), args, build, func(in [][]float64) []float64 {
		var y []float64
		for i := range n {
			state, memory := make([]float64, h), make([]float64, h)
			y = append(y, make([]float64, l*h)...)
			for t := range l {
				if unit.reversed() {
					t = l - 1 - t
				}
				if len(in) < 4 || in[3][i*l+t] != 0 {
					own := matmul64(state, in[1], h, width)
					for j := range own {
						own[j] += in[2][j]
					}
					twin(own, in[0][(i*l+t)*width:], state, memory)
				}
				copy(y[(i*l+t)*h:], state)
			}
		}
		return y
	}}
}

// gru64 is a step of a GRU, element by element.
func gru64(own, x, state, _ []float64) {
	h := len(state)
	for j := range h {
		r, z := sigmoid64(x[j]+own[j]), sigmoid64(x[h+j]+own[h+j])
		state[j] = (1-z)*math.Tanh(x[2*h+j]+r*own[2*h+j]) + z*state[j]
	}
}

// lstm64 is a step of an LSTM.
func lstm64(own, x, state, memory []float64) {
	h := len(state)
	for j := range h {
		gate := func(i int) float64 { return x[i*h+j] + own[i*h+j] }
		memory[j] = sigmoid64(gate(1))*memory[j] + sigmoid64(gate(0))*math.Tanh(gate(2))
		state[j] = sigmoid64(gate(3)) * math.Tanh(memory[j])
	}
}

// matmuls64 are products of [m k] and [k p] matrices.
func matmuls64(m, k, p int) func([][]float64) []float64 {
	return func(in [][]float64) []float64 {
		var y []float64
		for i := range len(in[0]) / (m * k) {
			y = append(y, matmul64(in[0][i*m*k:(i+1)*m*k], in[1][i*k*p:], k, p)...)
		}
		return y
	}
}

// TestMaskedSoftmaxOfNothing: where a mask leaves nothing, all is 0 and nothing gets a gradient; what it leaves out may be anything.
func TestMaskedSoftmaxOfNothing(t *testing.T) {
	g := NewGraph(1)
	inf := float32(math.Inf(1))
	x := g.Parameter(ParameterOptions{Name: "x", Init: optimizer.Assign([]float32{1, 2, inf, 3, -inf, float32(math.NaN())})}, 2, 3)
	y := MaskedSoftmax(x, g.Parameter(ParameterOptions{Init: optimizer.Assign([]float32{1, 1, 0, 0, 0, 0}), Frozen: true}, 2, 3))
	k := minimise(t, apply("", &weighed{[]float32{1, 2, 3, 4, 5, 6}}, y), 0)
	first := float32(1 / (1 + math.E))
	if err := near(must(t, NewExecutor(g), batchOf{}, y)[0].Float32s(), []float32{first, 1 - first, 0, 0, 0, 0}, 1e-6, 0); err != nil {
		t.Error(err)
	}
	slope := first * (1 - first)
	if err := near(k.gradient("x", 6), []float32{-slope, slope, 0, 0, 0, 0}, 1e-5, 1e-7); err != nil {
		t.Errorf("gradient: %v", err)
	}
}

// eachHead calls f for every example, head, query and place.
func eachHead(n, heads, queries, places int, f func(i, head, query, place int)) {
	for i := range n * heads * queries * places {
		f(i/places/queries/heads, i/places/queries%heads, i/places%queries, i%places)
	}
}
