package digits

import (
	"testing"

	"github.com/gofleet/gofleet/dataset"
)

func TestLoad(t *testing.T) {
	train, test, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		name string
		rows *dataset.Dataset
		want int
	}{{"train", train, 8000}, {"test", test, 2000}} {
		if n, known := part.rows.Len(); n != part.want || !known {
			t.Errorf("%s: %d rows, want %d", part.name, n, part.want)
		}
		var classes [10]int
		low, high := float32(0), float32(0)
		for batch, err := range part.rows.Batches(500) {
			if err != nil {
				t.Fatal(err)
			}
			if s := batch["img"].Shape(); s.Dims() != 4 || s[1] != 1 || s[2] != 28 || s[3] != 28 {
				t.Fatalf("%s: images of shape %v", part.name, s)
			}
			for _, label := range batch["label"].Data().([]int64) {
				classes[label]++
			}
			for _, x := range batch["img"].Data().([]float32) {
				low, high = min(low, x), max(high, x)
			}
		}
		for digit, n := range classes {
			if n < part.want/14 || n > part.want/7 {
				t.Errorf("%s: %d times the digit %d", part.name, n, digit)
			}
		}
		if low != -1 || high != 1 {
			t.Errorf("%s: pixels from %v to %v, want -1 to 1", part.name, low, high)
		}
	}
}
