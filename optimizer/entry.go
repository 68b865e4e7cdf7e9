package optimizer

import (
	"errors"
	"fmt"
	"math"
)

// Entry decides which ids of an embedding get a row of their own, so that ids which are hardly ever met cost no memory.
// An id that has none yet reads as a missing row does (zeros, or its initial value when the embedding has a height) and
// its gradients are dropped. At most one of the policies is set; the zero value lets every id in when it is first
// pushed, in a process alone when it is first read for training.
//
// Counts rise with pushes, each of which counts once however often it is repeated on the way, and never with reads. A
// round, of mode sync or without servers, counts as many pushes of an id as workers had it. Steps that travel as one
// gradient (gradient_merge, MaxMergeVarNum) are one push; shows and clicks add up wherever gradients do. A row that is
// given explicitly, or by a checkpoint, is let in by every policy.
type Entry struct {
	// CountFilter is the number of pushes with that id that it takes: the gradient of the last of them is the row's
	// first. 0 and 1 let every id in.
	CountFilter int `json:"count_filter,omitempty"`
	// Probability is the share of all ids that are let in, between 0 and 1; the others never are. The lot of an id
	// depends on the param's Seed and Name and on the id alone, so it falls alike on every server and in every run.
	// (PaddlePaddle's ProbabilityEntry(p) lets 1−p in.)
	Probability float64 `json:"probability,omitempty"`
	// ShowClick lets an id in by how often it was shown and clicked.
	ShowClick ShowClick `json:"show_click,omitzero"`
}

// ShowClick rates an id by how often it was shown to somebody, and how often it was clicked:
//
//	score = ShowCoeff·(show − click) + ClickCoeff·click
//
// The id is let in by the push that brings its score to Threshold. Its row goes on counting, so that a table can be rid
// of rows whose score has decayed. A push that says nothing of shows and clicks is one show.
type ShowClick struct {
	// Threshold is the score to reach; it must be positive.
	Threshold float64 `json:"threshold"`
	// ShowCoeff is what a show without a click is worth; 0 means 0.1.
	ShowCoeff float64 `json:"show_coeff,omitempty"`
	// ClickCoeff is what a click is worth; 0 means 1.
	ClickCoeff float64 `json:"click_coeff,omitempty"`
}

// Score is that of an id that was shown and clicked so often.
func (s ShowClick) Score(show, click float32) float64 {
	return or(s.ShowCoeff, 0.1)*float64(show-click) + or(s.ClickCoeff, 1)*float64(click)
}

// Check says what is wrong with the policy, or nil.
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

// Drawn says whether the param's [Entry.Probability] lets an id in.
func (p *Param) Drawn(id uint64) bool {
	const lots = 0x6c6f7473 // another stream than that of initial values
	return unit(Key(p.Seed^lots, p.Name)^mix(id+1), 0) < p.Entry.Probability
}
