package optimizer

import (
	"errors"
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Entry decides which ids of an embedding get a row, so that rare ids cost no memory. An id without a row reads as a
// missing row (zeros, or its initial value if the embedding has a height), and its gradients are dropped. At most one
// of the policies may be set. The zero value gives every id a row when it is first pushed; in a process alone, when it
// is first read for training.
//
// Counts rise with pushes and never with reads; a push that is retried counts once. A round, in mode sync or without
// servers, counts one push of an id for each worker that had it. Steps that are merged into one gradient
// (gradient_merge, MaxMergeVarNum) count as one push; their shows and clicks are summed. Every policy accepts a row
// that is given explicitly or by a checkpoint.
type Entry struct {
	// CountFilter is the number of pushes that an id needs; the gradient of the last of them is the row's first. 0 and
	// 1 let every id in.
	CountFilter int `json:"count_filter,omitempty"`
	// Probability is the fraction of ids that get a row, between 0 and 1; the others never do. The choice depends only
	// on the param's Seed and Name and on the id, so it is the same on every server and in every run. (PaddlePaddle's
	// ProbabilityEntry(p) lets 1−p in.)
	Probability float64 `json:"probability,omitempty"`
	// ShowClick lets an id in by how often it was shown and clicked.
	ShowClick ShowClick `json:"show_click,omitzero"`
}

// ShowClick scores an id by its impressions (shows) and clicks:
//
//	score = ShowCoeff·(show − click) + ClickCoeff·click
//
// The push that brings an id's score to Threshold creates its row. The row continues to count, so that rows whose score
// has decayed can be dropped from the table. A push without shows and clicks counts as one show.
type ShowClick struct {
	// Threshold is the score to reach; it must be positive.
	Threshold float64 `json:"threshold"`
	// ShowCoeff is what a show without a click is worth; 0 means 0.1.
	ShowCoeff float64 `json:"show_coeff,omitempty"`
	// ClickCoeff is what a click is worth; 0 means 1.
	ClickCoeff float64 `json:"click_coeff,omitempty"`
}

// Score returns the score of an id with this many shows and clicks.
func (s ShowClick) Score(show, click float32) float64 {
	return or(s.ShowCoeff, 0.1)*float64(show-click) + or(s.ClickCoeff, 1)*float64(click)
}

// Check returns what is wrong with the policy, or nil.
func (e Entry) Check() error {
	set := 0
	for _, is := range []bool{e.CountFilter != 0, e.Probability != 0, e.ShowClick != ShowClick{}} {
		if is {
			set++
		}
	}
	switch {
	case set > 1:
		return fmt.Errorf("entry %+v has %d policies: set one of CountFilter, Probability and ShowClick", e, set)
	case e.CountFilter < 0 || e.CountFilter > math.MaxInt32:
		return fmt.Errorf("entry: CountFilter is %d: it counts pushes", e.CountFilter)
	case !(e.Probability >= 0 && e.Probability <= 1):
		return fmt.Errorf("entry: Probability is %v: it must be above 0, and 1 at most", e.Probability)
	}
	return e.ShowClick.check()
}

func (s ShowClick) check() error {
	if s == (ShowClick{}) {
		return nil
	}
	if !(s.Threshold > 0) || math.IsInf(s.Threshold, 1) {
		return fmt.Errorf("entry: ShowClick.Threshold is %v: it must be a positive score", s.Threshold)
	}
	return errors.Join(checkCoeff("ShowCoeff", s.ShowCoeff), checkCoeff("ClickCoeff", s.ClickCoeff))
}

func checkCoeff(name string, v float64) error {
	if err := checkPositive(name, v); err != nil {
		return fmt.Errorf("entry: ShowClick.%w", err)
	}
	return nil
}

// Drawn reports whether the param's [Entry.Probability] gives an id a row.
func (p *Param) Drawn(id uint64) bool {
	const lots = 0x6c6f7473 // another stream than that of initial values
	return unit(kernels.Stream(p.Seed^lots, p.Name)^kernels.Mix(id+1), 0) < p.Entry.Probability
}
