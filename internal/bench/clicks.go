package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// How many clicks there are, to train and to test on.
const trainRows, testRows = 200_000, 50_000

// cardinalities are those of Criteo's 26 categories.
var cardinalities = [26]float64{1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27,
	14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572}

// pairs are categories of which the deep part can find more than the wide one.
var pairs = [][2]int{{5, 8}, {13, 16}, {19, 21}, {4, 22}}

// makeClicks writes rows in Criteo's form, made from a model: a label, 13 counts, 26 tokens.
func (l *lab) makeClicks(train, test int) error {
	r := rand.New(rand.NewPCG(1, 1))
	return errors.Join(os.Mkdir(l.clicks, 0o700), writeClicks(filepath.Join(l.clicks, "train.tsv"), train, r),
		writeClicks(filepath.Join(l.clicks, "test.tsv"), test, r))
}

func writeClicks(path string, n int, r *rand.Rand) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for range n {
		writeClick(w, r)
	}
	return errors.Join(w.Flush(), f.Close())
}

// writeClick draws a row. The chance of a click is a sum of effects of counts, of categories and of pairs of them;
// ranks of categories are spread evenly over their logarithms.
func writeClick(w *bufio.Writer, r *rand.Rand) {
	var counts [13]string
	var ids [26]uint64
	logit := -1.55
	for i := range counts {
		if v := math.Floor(math.Exp(1 + 1.4*r.NormFloat64())); r.Float64() >= 0.0375*float64(i) {
			counts[i] = fmt.Sprint(v)
			logit += 0.18 * math.Log1p(v) * effect(99, uint64(i))
		}
	}
	for i, n := range cardinalities {
		ids[i] = uint64(math.Pow(n, r.Float64()))
		logit += 0.14 * effect(uint64(i), ids[i])
	}
	for _, p := range pairs {
		logit += 0.45 * effect(50+uint64(p[0]), ids[p[0]]*1009+ids[p[1]])
	}
	label := 0
	if r.Float64() < 1/(1+math.Exp(-logit)) {
		label = 1
	}
	fmt.Fprint(w, label)
	for _, c := range counts {
		fmt.Fprint(w, "\t", c)
	}
	for i, id := range ids {
		fmt.Fprintf(w, "\t%08x", uint32(id*2654435761+uint64(i)*40503))
	}
	fmt.Fprintln(w)
}

// effect is a number of variance 1 that belongs to an id of a field.
func effect(field, id uint64) float64 {
	x := (id + field*1_000_003 + 1) * 0x9E3779B97F4A7C15
	x = (x ^ x>>31) * 0xBF58476D1CE4E5B9
	x ^= x >> 29
	return (float64(x>>11)/(1<<53) - 0.5) * math.Sqrt(12)
}
