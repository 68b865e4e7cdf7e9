package optimizer

import (
	"fmt"
	"math"
	"testing"

	"github.com/gofleet/gofleet/internal/kernels"
)

func TestInitialValuesArePureFunctions(t *testing.T) {
	for _, init := range []Initializer{Uniform{-1, 1}, Normal{0, 2}, TruncatedNormal{1, 0.5}, Constant{3}} {
		p := &Param{Name: "emb", Shape: []int{0, 4}, Embedding: true, Init: init, Seed: 7}
		q := *p
		a, b, other := make([]float32, 4), make([]float32, 4), make([]float32, 4)
		p.InitRow(a, 1<<60)
		q.InitRow(other, 3)
		q.InitRow(b, 1<<60)
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%T: row differs from itself: %v, %v", init, a, b)
		}
		if _, constant := init.(Constant); !constant && fmt.Sprint(a) == fmt.Sprint(other) {
			t.Errorf("%T: two rows are equal: %v", init, a)
		}
	}
}

func TestMomentsOfInitializers(t *testing.T) {
	const n = 200_000
	w := make([]float32, n)
	for _, c := range []struct {
		init      Initializer
		mean, std float64
		low, high float64
	}{
		{Uniform{-1, 3}, 1, 4 / math.Sqrt(12), -1, 3},
		{Normal{2, 0.5}, 2, 0.5, -2, 6},
		{TruncatedNormal{0, 1}, 0, 0.8796, -2, 2},
		{Uniform{}, 0, 2 / math.Sqrt(12), -1, 1},
		{Normal{}, 0, 1, -6, 6},
		{Normal{Mean: 3}, 3, 1, -3, 9},
		{TruncatedNormal{Mean: 3}, 3, 0.8796, 1, 5},
	} {
		c.init.Fill(w, kernels.Stream(1, "w"))
		var sum, square float64
		for _, v := range w {
			sum += float64(v)
			square += float64(v) * float64(v)
			if float64(v) < c.low || float64(v) > c.high {
				t.Fatalf("%+v drew %v, outside [%v, %v]", c.init, v, c.low, c.high)
			}
		}
		mean := sum / n
		if std := math.Sqrt(square/n - mean*mean); math.Abs(mean-c.mean) > 0.02 || math.Abs(std-c.std) > 0.01 {
			t.Errorf("%T%+v: mean %.4f std %.4f, want %.4f %.4f", c.init, c.init, mean, std, c.mean, c.std)
		}
	}
}

func TestAssign(t *testing.T) {
	a := Assign([]float32{1, 2, 3, 4})
	row := make([]float32, 2)
	(&Param{Name: "e", Shape: []int{3, 2}, Embedding: true, Init: a}).InitRow(row, 1)
	if row[0] != 3 || row[1] != 4 {
		t.Errorf("row 1 is %v", row)
	}
	(&Param{Name: "e", Shape: []int{3, 2}, Embedding: true, Init: a}).InitRow(row, 2)
	if row[0] != 0 || row[1] != 0 {
		t.Errorf("a row beyond the values is %v", row)
	}
	dense := []float32{9, 9, 9, 9, 9}
	a.Fill(dense, 0)
	if dense[3] != 4 || dense[4] != 0 {
		t.Errorf("dense is %v", dense)
	}
	if s, same := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", Assign([]float32{1, 2, 3, 4})); s != same {
		t.Errorf("equal values print as %s and %s", s, same)
	}
}
