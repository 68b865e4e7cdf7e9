package nn

import (
	"math"
	"slices"
)

func init() {
	for i, c := range lossAndSequenceCases(3, 4) {
		sizedCases = append(sizedCases, sizedCase{c.name, func(n int, draw func() int) gradientCase {
			return lossAndSequenceCases(n, 1+draw())[i] // a loss needs two classes
		}})
	}
}

// lossAndSequenceCases are losses and ops of sequences of any number of examples and any width.
func lossAndSequenceCases(n, size int) []gradientCase {
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
	groups := arg{labels, []int{n, 1}, 0, float64(n+2) / 3}
	classes := arg{labels, []int{n, 1}, 0, float64(size)}
	return []gradientCase{
		{"focal_loss", []arg{x(n, size).between(-6, 6), hard},
			two(func(x, y *Node) *Node { return FocalLoss(x, y, 2, 0.25) }), map2(focal(2, 0.25))},
		{"focal_loss of shares", []arg{x(n, size), soft},
			two(func(x, y *Node) *Node { return FocalLoss(x, y, 0.5, 0) }), map2(focal(0.5, 0))},
		{"hinge", []arg{x(n, size), hard}, two(Hinge), map2(func(x, y float64) float64 { return max(0, 1-(2*y-1)*x) })},
		{"contrastive", []arg{x(n, size).between(0, 3), hard}, two(func(d, y *Node) *Node { return Contrastive(d, y, 1.5) }),
			map2(func(d, y float64) float64 { return y*d*d + (1-y)*math.Pow(max(0, 1.5-d), 2) })},
		{"huber", []arg{x(n, size), x(n, size)}, two(func(a, b *Node) *Node { return SmoothL1(a, b, 0.7) }), map2(func(a, b float64) float64 {
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
		{"group_pairs", []arg{x(n, 1), {labels, []int{n, 1}, 0, 3}, groups}, func(in []*Node) *Node { return RankNet(in[0], in[1], in[2]) }, pairs64(0)},
		{"group_pairs by gains", []arg{x(n, 1).between(-9, 9), {numbers, []int{n, 1}, 0, 4}, groups}, func(in []*Node) *Node {
			return LambdaRank(in[0], in[1], in[2], size)
		}, pairs64(size)},
		{"embedding_sequence", []arg{{ragged, []int{n}, 0, 5}, {tableRows, []int{5, size}, -1, 1}}, two(func(ids, table *Node) *Node {
			return apply("", embeddingSequence{padded{new(int64(3))}, 3}, ids, table)
		}), func(in [][]float64) (y []float64) {
			eachKept(n, 3, func(_, at int) { y = append(y, lookup64(size, 3)([][]float64{idsAt(in[0], at), in[1]})...) })
			return y
		}},
		{"embedding_sequence of fixed length", []arg{{labels, []int{n, 4}, 0, 5}, {tableRows, []int{5, size}, -1, 1}},
			two(func(ids, table *Node) *Node {
				return apply("", embeddingSequence{padded{new(int64(2))}, 4}, ids, table)
			}), lookup64(size, 2)},
		{"sequence_mask", []arg{x(n, 4), {ragged, []int{n}, 0, 3}}, two(func(x, ids *Node) *Node {
			return Multiply(x, apply("", sequenceMask{Length: 4, PaddingIdx: new(int64(1))}, ids))
		}), mask64(n, 4, 1, false)},
		{"sequence_mask that counts", []arg{x(n, 2), {ragged, []int{n}, 0, 3}}, two(func(x, ids *Node) *Node {
			return Multiply(x, apply("", sequenceMask{Length: 2, Count: true}, ids))
		}), mask64(n, 2, -1, true)},
		{"embedding_pool max", []arg{{ragged, []int{n}, 0, 5}, {tableRows, []int{5, size}, -1, 1}}, pooling(PoolMax, new(int64(3))),
			ragged64(n, size, PoolMax, 3, nil)},
		{"embedding_pool sum of values", weightedPool(n, size), weightedPooling(PoolSum), ragged64(n, size, PoolSum, 3, new(2))},
		{"embedding_pool mean of values", weightedPool(n, size), weightedPooling(PoolMean), ragged64(n, size, PoolMean, 3, new(2))},
		{"embedding_pool sqrtn of values", weightedPool(n, size), weightedPooling(PoolSqrtN), ragged64(n, size, PoolSqrtN, 3, new(2))},
		{"embedding_pool mean_unpadded of values", weightedPool(n, size), weightedPooling(PoolMeanUnpadded),
			ragged64(n, size, PoolMeanUnpadded, 3, new(2))},
		{"conv1d", []arg{x(n, 7, size), w(4, size/groupsOf(size), 3, 1), w(4)}, conv1d(conv2d{window{3, 2, 0}, 1, 2, groupsOf(size), true}),
			conv1d64(7, size, groupsOf(size))},
		{"conv2d in groups", []arg{x(n, 2*size, 3, 4), w(4, size, 2, 3), w(4)}, func(in []*Node) *Node {
			return apply("", conv2d{window{2, 2, 1}, 3, 1, 2, false}, in...)
		}, conv2d64(size)},
		{"global_max", []arg{x(n, size, 2, 3)}, one(GlobalMaxPool2D), rowwise(6, func(v []float64) []float64 { return []float64{slices.Max(v)} })},
		{"global_avg", []arg{x(n, size, 2, 3)}, one(GlobalAvgPool2D), rowwise(6, func(v []float64) []float64 {
			return []float64{dot64(v, ones64(6)) / 6}
		})},
		{"sequence_pool", []arg{x(n, 3, size)}, one(func(x *Node) *Node { return SequencePool(x, nil, PoolMean) }),
			sequence64(n, size, PoolMean)},
		{"sequence_pool masked", []arg{x(n, 3, size), {numbers, []int{n, 3}, 0, 1}}, masked(PoolSum),
			sequence64(n, size, PoolSum)},
		{"sequence_pool masked mean", []arg{x(n, 3, size), {numbers, []int{n, 3}, 0, 1}}, masked(PoolMean),
			sequence64(n, size, PoolMean)},
		{"sequence_pool masked sqrtn", []arg{x(n, 3, size), {numbers, []int{n, 3}, 0, 1}}, masked(PoolSqrtN),
			sequence64(n, size, PoolSqrtN)},
		{"sequence_pool masked max", []arg{x(n, 3, size), {numbers, []int{n, 3}, 0, 1}}, masked(PoolMax),
			sequence64(n, size, PoolMax)},
	}
}

// groupsOf is 2 where channels can be cut so.
func groupsOf(channels int) int { return 2 - channels%2 }

// conv1d is what Conv1D makes of its parameters.
func conv1d(o conv2d) func([]*Node) *Node {
	return func(in []*Node) *Node {
		channels := Reshape(Transpose(in[0], 0, 2, 1), in[0].shape[2], in[0].shape[1], 1)
		y := apply("", o, channels, in[1], in[2])
		return Transpose(Reshape(y, y.shape[1], y.shape[2]), 0, 2, 1)
	}
}

// conv1d64 slides 4 filters of 3 elements 2 apart over every other position, so that there are half as many.
func conv1d64(length, channels, groups int) func([][]float64) []float64 {
	each := channels / groups
	return func(in [][]float64) (y []float64) {
		for ; len(in[0]) > 0; in = [][]float64{in[0][length*channels:], in[1], in[2]} {
			for at := -2; at < length-2; at += 2 { // (7+1)/2 positions reach over 11 elements: two zeros on each side
				for f := range 4 {
					v := in[2][f]
					for tap := range 3 {
						for ch := range each {
							if i := at + 2*tap; i >= 0 && i < length {
								v += in[0][i*channels+f/(4/groups)*each+ch] * in[1][(f*each+ch)*3+tap]
							}
						}
					}
					y = append(y, v)
				}
			}
		}
		return y
	}
}

// conv2d64 slides 4 filters of height 2 and width 3 by 2 over images of 3 by 4 with a zero on each side, in 2 groups.
func conv2d64(channels int) func([][]float64) []float64 {
	return func(in [][]float64) (y []float64) {
		for n := range len(in[0]) / (24 * channels) {
			for f := range 4 {
				for at := range 4 {
					v := in[2][f]
					for ch := range channels {
						for tap := range 6 {
							row, col := at/2*2-1+tap/3, at%2*2-1+tap%3
							if row >= 0 && row < 3 && col >= 0 && col < 4 {
								v += in[0][((n*2+f/2)*channels+ch)*12+row*4+col] * in[1][(f*channels+ch)*6+tap]
							}
						}
					}
					y = append(y, v)
				}
			}
		}
		return y
	}
}

// masked pools the positions whose number is 0.5 or more.
func masked(p Pool) func([]*Node) *Node {
	return two(func(x, m *Node) *Node { return SequencePool(x, Cast(Cast(Scale(m, 2, 0), Int64), Float32), p) })
}

// raggedOffsets cut ids into n examples, of which the third and each fifth behind it is empty.
func raggedOffsets(n int) []int64 {
	offsets := []int64{0}
	for i := range n {
		offsets = append(offsets, offsets[i]+[]int64{1, 3, 0, 2, 4}[i%5])
	}
	return offsets
}

// eachKept calls f for every position of n examples, with the place of its id among all, or -1.
func eachKept(n, length int, f func(example, at int)) {
	offsets := raggedOffsets(n)
	for i := range n {
		from := max(offsets[i], offsets[i+1]-int64(length))
		for j := range int64(length) {
			if from+j < offsets[i+1] {
				f(i, int(from+j))
			} else {
				f(i, -1)
			}
		}
	}
}

// idsAt is the id there, or 3, which is padding.
func idsAt(ids []float64, at int) []float64 {
	if at < 0 {
		return []float64{3}
	}
	return ids[at : at+1]
}

func mask64(n, length int, padding float64, count bool) func([][]float64) []float64 {
	return func(in [][]float64) (y []float64) {
		seen := make([]float64, n)
		eachKept(n, length, func(example, at int) {
			mark := 0.0
			if at >= 0 && in[1][at] != padding {
				seen[example]++
				mark = 1
				if count {
					mark = seen[example]
				}
			}
			y = append(y, mark*in[0][len(y)])
		})
		return y
	}
}

func weightedPool(n, size int) []arg {
	return []arg{{ragged, []int{n}, 0, 5}, {tableRows, []int{5, size}, -1, 1}, {raggedValues, []int{n}, 0.5, 2}}
}

func weightedPooling(p Pool) func([]*Node) *Node {
	return func(in []*Node) *Node { return apply("", embeddingPool{padded{new(int64(3))}, p}, in...) }
}

// pool64 pools rows with values; counted are the values of all ids, those of padding too.
func poolRows64(p Pool, rows [][]float64, values, counted []float64, size int) []float64 {
	y := make([]float64, size)
	sum, squares, all := 0.0, 0.0, 0.0
	for _, v := range values {
		sum += v
	}
	for _, v := range counted {
		all, squares = all+v, squares+v*v
	}
	for j := range y {
		for i, row := range rows {
			switch {
			case p != PoolMax:
				y[j] += values[i] * row[j]
			case i == 0 || row[j] > y[j]:
				y[j] = row[j]
			}
		}
		by := map[Pool]float64{PoolSum: 1, PoolMax: 1, PoolMean: all, PoolMeanUnpadded: sum, PoolSqrtN: math.Sqrt(squares)}[p]
		if len(rows) > 0 {
			y[j] /= by
		}
	}
	return y
}

func ragged64(n, size int, p Pool, padding float64, values *int) func([][]float64) []float64 {
	return func(in [][]float64) (y []float64) {
		offsets := raggedOffsets(n)
		for i := range n {
			var rows [][]float64
			var taken, counted []float64
			for at := offsets[i]; at < offsets[i+1]; at++ {
				value, id := 1.0, int(in[0][at])
				if values != nil {
					value = in[*values][at]
				}
				counted = append(counted, value)
				if float64(id) != padding {
					rows, taken = append(rows, in[1][id*size:(id+1)*size]), append(taken, value)
				}
			}
			y = append(y, poolRows64(p, rows, taken, counted, size)...)
		}
		return y
	}
}

func sequence64(n, size int, p Pool) func([][]float64) []float64 {
	return func(in [][]float64) (y []float64) {
		for i := range n {
			var rows [][]float64
			var ones []float64
			for at := 3 * i; at < 3*i+3; at++ {
				if len(in) == 1 || in[1][at] >= 0.5 {
					rows, ones = append(rows, in[0][at*size:(at+1)*size]), append(ones, 1)
				}
			}
			y = append(y, poolRows64(p, rows, ones, ones, size)...)
		}
		return y
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

// pairs64 is the loss of pairs of rows of a group, by their NDCG at k if there is one. Places are those at first.
func pairs64(k int) func([][]float64) []float64 {
	var was []float64
	return func(in [][]float64) []float64 {
		if was == nil {
			was = slices.Clone(in[0])
		}
		score, relevance, group, losses := in[0], in[1], in[2], make([]float64, len(in[0]))
		discount := func(place int) float64 {
			if place >= k {
				return 0
			}
			return 1 / math.Log2(2+float64(place))
		}
		for i := range losses {
			place := func(of int, above func(j int) bool) (n int) {
				for j := range group {
					if group[j] == group[i] && j != of && above(j) {
						n++
					}
				}
				return n
			}
			byScore := func(of int) int {
				return place(of, func(j int) bool { return was[j] > was[of] || was[j] == was[of] && j < of })
			}
			best := 0.0
			for a := range group {
				if group[a] == group[i] {
					at := place(a, func(j int) bool { return relevance[j] > relevance[a] || relevance[j] == relevance[a] && j < a })
					best += relevance[a] * discount(at)
				}
			}
			for j := range group {
				if group[j] == group[i] && relevance[j] < relevance[i] {
					weight := 1.0
					if k > 0 {
						weight = math.Abs((relevance[i]-relevance[j])*(discount(byScore(i))-discount(byScore(j)))) / best
					}
					losses[i] += weight * math.Log(1+math.Exp(score[j]-score[i]))
				}
			}
		}
		return losses
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
