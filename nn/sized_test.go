package nn

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// sizedCases are gradient cases of any number of examples and any width.
func sizedCases(n, size int) []gradientCase {
	probability := func(row []float64, class int) float64 { return softmax64(row)[class] }
	entropies := func(of func(row []float64, i int) float64) func([][]float64) []float64 {
		return func(in [][]float64) (y []float64) {
			for i := range len(in[0]) / size {
				y = append(y, of(in[0][i*size:(i+1)*size], i))
			}
			return y
		}
	}
	smoothed := func(smooth float64, in [][]float64) func(row []float64, i int) float64 {
		return func(row []float64, i int) (y float64) {
			for j := range row {
				share := smooth / float64(size)
				if int(in[1][i]) == j {
					share += 1 - smooth
				}
				y -= share * math.Log(probability(row, j))
			}
			return y
		}
	}
	focal := func(gamma, alpha float64) func(x, y float64) float64 {
		return func(x, y float64) float64 {
			p := sigmoid64(x)
			weight := 1.0
			if alpha > 0 {
				weight = alpha*y + (1-alpha)*(1-y)
			}
			return weight * math.Pow(1-(y*p+(1-y)*(1-p)), gamma) * -(y*math.Log(p) + (1-y)*math.Log(1-p))
		}
	}
	hard, soft := arg{labels, []int{n, size}, 0, 2}, arg{numbers, []int{n, size}, 0.1, 0.9}
	classes := arg{labels, []int{n, 1}, 0, float64(size)}
	return []gradientCase{
		{"focal_loss", []arg{x(n, size).between(-6, 6), hard}, two(func(x, y *Node) *Node { return FocalLoss(x, y, 2, 0.25) }), map2(focal(2, 0.25))},
		{"focal_loss of shares", []arg{x(n, size), soft}, two(func(x, y *Node) *Node { return FocalLoss(x, y, 0.5, 0) }), map2(focal(0.5, 0))},
		{"hinge", []arg{x(n, size), hard}, two(Hinge), map2(func(x, y float64) float64 { return max(0, 1-(2*y-1)*x) })},
		{"contrastive", []arg{x(n, size).between(0, 3), hard}, two(func(d, y *Node) *Node { return Contrastive(d, y, 1.5) }),
			map2(func(d, y float64) float64 { return y*d*d + (1-y)*math.Pow(max(0, 1.5-d), 2) })},
		{"huber", []arg{x(n, size), x(n, size)}, two(func(a, b *Node) *Node { return Huber(a, b, 0.7) }), map2(func(a, b float64) float64 {
			if d := math.Abs(a - b); d > 0.7 {
				return 0.7 * (d - 0.35)
			}
			return (a - b) * (a - b) / 2
		})},
		{"bpr", []arg{x(n, size), x(n, size)}, two(BPR), map2(func(a, b float64) float64 { return -math.Log(sigmoid64(a - b)) })},
		{"softmax_with_cross_entropy smoothed", []arg{x(n, size).between(-9, 9), classes}, two(func(x, y *Node) *Node {
			return SoftmaxWithCrossEntropyOf(x, y, CrossEntropyOptions{Smoothing: 0.1})
		}), func(in [][]float64) []float64 { return entropies(smoothed(0.1, in))(in) }},
		{"softmax_with_cross_entropy with a label to ignore", []arg{x(n, size), classes}, two(func(x, y *Node) *Node {
			return SoftmaxWithCrossEntropyOf(x, y, CrossEntropyOptions{Ignore: new(int64(0)), Smoothing: 0.2})
		}), func(in [][]float64) []float64 {
			return entropies(func(row []float64, i int) float64 {
				if in[1][i] == 0 {
					return 0
				}
				return smoothed(0.2, in)(row, i)
			})(in)
		}},
		{"softmax_with_cross_entropy of shares", []arg{x(n, size), soft}, two(func(x, y *Node) *Node {
			return SoftmaxWithCrossEntropyOf(x, y, CrossEntropyOptions{Smoothing: 0.3})
		}), func(in [][]float64) []float64 {
			return entropies(func(row []float64, i int) (y float64) {
				for j, share := range in[1][i*size : (i+1)*size] {
					y -= (share*0.7 + 0.3/float64(size)) * math.Log(probability(row, j))
				}
				return y
			})(in)
		}},
		{"softmax_with_cross_entropy of sequences", []arg{x(n, 3, size), {labels, []int{n, 3}, 0, float64(size)}}, two(SoftmaxWithCrossEntropy),
			func(in [][]float64) []float64 { return entropies(smoothed(0, in))(in) }},
		{"weighted_mean", []arg{x(n, size), {numbers, []int{n, 1}, 0.5, 2}}, two(WeightedMean), weighted64(size)},
		{"weighted_mean of each", []arg{x(n, size), {labels, []int{n, size}, 0, 3}}, two(WeightedMean), weighted64(1)},
		{"class_weights", []arg{x(n, size), {labels, []int{n, size}, 0, 3}}, two(func(x, label *Node) *Node {
			return WeightedMean(x, ClassWeights(label, ClassWeightOptions{Weights: []float32{1, 0.5}, Ignore: new(int64(2))}))
		}), func(in [][]float64) []float64 {
			return weighted64(1)([][]float64{in[0], map1(func(y float64) float64 { return []float64{1, 0.5, 0}[int(y)] })(in[1:])})
		}},
		{"class_weights of two", []arg{x(n, size), soft}, two(func(x, label *Node) *Node {
			return WeightedMean(x, ClassWeights(label, ClassWeightOptions{Weights: []float32{1, 3}}))
		}), func(in [][]float64) []float64 {
			return weighted64(1)([][]float64{in[0], map1(func(y float64) float64 { return 1 + 2*y })(in[1:])})
		}},
		{"in_batch_softmax", []arg{x(n, size), x(n, size)}, two(func(u, v *Node) *Node { return InBatchSoftmax(u, v, InBatchOptions{}) }),
			inBatch64(size, 1, false, false)},
		{"in_batch_softmax corrected", []arg{x(n, size), x(n, size), {numbers, []int{n, 1}, -3, 0}, {labels, []int{n, 1}, 0, float64(n+3) / 2}},
			func(in []*Node) *Node {
				return InBatchSoftmax(in[0], in[1], InBatchOptions{Temperature: 0.5, LogQ: in[2], IDs: in[3]})
			}, inBatch64(size, 0.5, true, true)},
		{"in_batch_softmax of other items", []arg{x(n, size), x(n, size), {labels, []int{n, 1}, 0, 1}}, func(in []*Node) *Node {
			return InBatchSoftmax(in[0], in[1], InBatchOptions{IDs: in[2]})
		}, func(in [][]float64) []float64 { return make([]float64, n) }},
	}
}

func weighted64(each int) func([][]float64) []float64 {
	return func(in [][]float64) []float64 {
		sum, weights := 0.0, 0.0
		for i, x := range in[0] {
			sum, weights = sum+x*in[1][i/each], weights+in[1][i/each]
		}
		if weights == 0 {
			return []float64{0}
		}
		return []float64{sum / weights}
	}
}

func inBatch64(size int, temperature float64, logQ, ids bool) func([][]float64) []float64 {
	return func(in [][]float64) (losses []float64) {
		n := len(in[0]) / size
		for i := range n {
			sum, own := 0.0, 0.0
			for j := range n {
				s := dot64(in[0][i*size:(i+1)*size], in[1][j*size:(j+1)*size]) / temperature
				if logQ {
					s -= in[2][j]
				}
				if i == j {
					own = s
				}
				if i == j || !ids || in[3][i] != in[3][j] {
					sum += math.Exp(s)
				}
			}
			losses = append(losses, math.Log(sum)-own)
		}
		return losses
	}
}

// TestGradientsOfAnySize compares the sized cases for batches of one example to some, and widths that fill no register of a kernel.
func TestGradientsOfAnySize(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 8, 17} {
		for _, size := range []int{1, 2, 3, 7, 16, 37} {
			if testing.Short() && n*size > 30 {
				continue
			}
			for _, c := range sizedCases(n, size) {
				t.Run(fmt.Sprintf("%s/%dx%d", c.name, n, size), func(t *testing.T) { c.compare(t) })
			}
		}
	}
}

// compare compares the case with its twin, once and twice on the same inputs.
func (c gradientCase) compare(t *testing.T) {
	in := make([][]float64, len(c.args))
	for i, a := range c.args {
		in[i] = a.draw(uint32(40 + i))
	}
	want := c.twin(in)
	weights := wide(uniform(7, len(want), -1, 1))
	for uses := 1; uses <= 2; uses++ {
		c.check(t, in, want, weights, uses)
	}
}

func allCases() []gradientCase { return slices.Concat(gradientCases, sizedCases(3, 4)) }
