package optimizer

import (
	"fmt"
	"math"
)

// Counts reports whether the param's rows count shows and clicks.
func (e Entry) Counts() bool { return e.ShowClick != ShowClick{} }

// CheckCounts returns what is wrong with the shows and clicks of a step's rows, or nil.
func (r *Rows) CheckCounts() error {
	if err := r.checkCount("shows", r.Show); err != nil {
		return err
	}
	return r.checkCount("clicks", r.Click)
}

func (r *Rows) checkCount(what string, numbers []float32) error {
	if numbers != nil && len(numbers) != len(r.IDs) {
		return fmt.Errorf("%d numbers of %s for %d rows of %q", len(numbers), what, len(r.IDs), r.Param.Name)
	}
	for i, x := range numbers {
		if !(x >= 0 && x <= math.MaxFloat32) {
			return fmt.Errorf("row %d of %q has %v %s: they are counted from 0", r.IDs[i], r.Param.Name, x, what)
		}
	}
	return nil
}
