package optimizer_test

import (
	"encoding/json"
	"fmt"

	"github.com/gofleet/gofleet/optimizer"
)

// An embedding of open ids gives a row to ids that were pushed ten times, and takes 4 GiB at most on each server.
func ExampleEntry() {
	ads := &optimizer.Param{
		Name: "ads", Shape: []int{0, 16}, Embedding: true,
		Entry:    optimizer.Entry{CountFilter: 10},
		MaxBytes: 4 << 30,
	}
	text, err := json.Marshal(ads.Entry)
	fmt.Println(ads.Check(), string(text), err)
	// Output: <nil> {"count_filter":10} <nil>
}

// Shows without a click count a little, clicks count for much.
func ExampleShowClick() {
	rating := optimizer.ShowClick{Threshold: 10}
	fmt.Printf("%.1f %.1f", rating.Score(50, 0), rating.Score(50, 6))
	// Output: 5.0 10.4
}
