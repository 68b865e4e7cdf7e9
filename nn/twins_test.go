package nn

import (
	"math"

	"github.com/gofleet/gofleet/optimizer"
)

// The twins of ops with a shape of their own, by the loops of their definitions.

// lookup64 puts rows of dim one after the other, zeros for the padding.
func lookup64(dim int, padding float64) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		var y []float64
		for _, id := range in[0] {
			row := make([]float64, dim)
			if id != padding {
				copy(row, in[1][int(id)*dim:])
			}
			y = append(y, row...)
		}
		return y
	}
}

var poolArgs = []arg{{slot, []int{6}, 0, 5}, {tableRows, []int{5, 2}, -1, 1}}

func pooling(p Pool, padding *int64) func([]*Node) *Node {
	return two(func(ids, table *Node) *Node { return apply("", embeddingPool{padded{padding}, p}, ids, table) })
}

// pool64 adds up the rows of each example, times a factor of their number.
func pool64(padding float64, factor func(n float64) float64) func(in [][]float64) []float64 {
	return pooled64(padding, func(ids []float64) float64 { return factor(float64(len(ids))) })
}

// unpadded64 is the mean of an example's rows.
func unpadded64(padding float64) func(in [][]float64) []float64 {
	return pooled64(padding, func(ids []float64) float64 {
		n := 0.0
		for _, id := range ids {
			if id != padding {
				n++
			}
		}
		return 1 / n
	})
}

func pooled64(padding float64, factor func(ids []float64) float64) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		y := make([]float64, 2*(len(slotOffsets)-1))
		for i := range len(slotOffsets) - 1 {
			ids := in[0][slotOffsets[i]:slotOffsets[i+1]]
			for _, id := range ids {
				for j := range 2 {
					if id != padding {
						y[2*i+j] += in[1][2*int(id)+j] * factor(ids)
					}
				}
			}
		}
		return y
	}
}

func batchNormed(in []*Node) *Node {
	frozen := ParameterOptions{Init: optimizer.Constant{Value: 1}, Frozen: true}
	g, channels := in[0].graph, in[0].shape[1]
	return apply("", batchNorm{1e-3, 0.9, false}, in[0], in[1], in[2], g.Parameter(frozen, channels), g.Parameter(frozen, channels))
}

// batchNorm64 normalises each channel over examples and positions.
func batchNorm64(channels, positions int) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		y := make([]float64, len(in[0]))
		for ch := range channels {
			var at []int
			var v []float64
			for i := range y {
				if i/positions%channels == ch {
					at, v = append(at, i), append(v, in[0][i])
				}
			}
			for i, n := range normal64(v, 1e-3) {
				y[at[i]] = n*in[1][ch] + in[2][ch]
			}
		}
		return y
	}
}

// conv64 is a convolution of images [2 5 4] with filters [3 2 3 3], stride 2 and padding 1: 3 rows and 2 columns of positions.
func conv64(in [][]float64) []float64 {
	var y []float64
	for n := range 2 {
		for f := range 3 {
			for i := range 3 {
				for j := range 2 {
					y = append(y, in[2][f]+patch64(in[0][n*40:], in[1][f*18:], 2*i-1, 2*j-1))
				}
			}
		}
	}
	return y
}

func patch64(image, filter []float64, row, col int) float64 {
	s := 0.0
	for ch := range 2 {
		for i := range 3 {
			for j := range 3 {
				if r, c := row+i, col+j; r >= 0 && r < 5 && c >= 0 && c < 4 {
					s += image[ch*20+r*4+c] * filter[ch*9+i*3+j]
				}
			}
		}
	}
	return s
}

// windows64 applies f to what windows of 3 with stride 2 and padding 1 cover of four planes of 5 by 5.
func windows64(f func([]float64) float64) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		var y []float64
		for plane := range 4 {
			for i := range 9 {
				var v []float64
				for j := range 9 {
					if r, c := i/3*2-1+j/3, i%3*2-1+j%3; r >= 0 && r < 5 && c >= 0 && c < 5 {
						v = append(v, in[0][plane*25+r*5+c])
					}
				}
				y = append(y, f(v))
			}
		}
		return y
	}
}

// nce64 is the loss of telling the first score from the others.
func nce64(d []float64) float64 {
	loss := -math.Log(sigmoid64(d[0]))
	for _, s := range d[1:] {
		loss -= math.Log(sigmoid64(-s))
	}
	return loss
}

func minus64(a, b []float64) []float64 {
	return map2(func(a, b float64) float64 { return a - b })([][]float64{a, b})
}

// sampledSoftmax64 is the cross-entropy of the first of 5 candidates, without those that are the first once more.
func sampledSoftmax64(in [][]float64) []float64 {
	var y []float64
	d := minus64(in[0], in[1])
	for at := 0; at < len(d); at += 5 {
		kept := d[at : at+1 : at+1]
		for i := at + 1; i < at+5; i++ {
			if in[2][i] != in[2][at] {
				kept = append(kept, d[i])
			}
		}
		y = append(y, -math.Log(softmax64(kept)[0]))
	}
	return y
}
