package train

import (
	"context"
	"fmt"
	"slices"
)

// Workers meet when they have come to the end of an epoch, or to an evaluation in the middle of one: each gives the others a word, a
// row of numbers that begins with these. What it measured follows, where it did.
const (
	wordMeasures = iota // 1 if sums follow
	wordEpoch           // the epoch, from 0
	wordEnded           // 1 if the worker has trained on its share of the epoch
	wordStop            // 1 if a hook of it has stopped the job
	wordLen
)

// word is what this worker has to say.
func (r *Run) word(ended bool, sums []float64) []float64 {
	w := make([]float64, wordLen, wordLen+len(sums))
	w[wordEpoch] = float64(r.Epoch)
	for i, is := range map[int]bool{wordMeasures: sums != nil, wordEnded: ended, wordStop: r.stopping()} {
		if is {
			w[i] = 1
		}
	}
	return append(w, sums...)
}

// meet waits for the other workers, and says whether all have ended the epoch.
func (r *Run) meet(ctx context.Context, ended bool) (all bool, err error) {
	words, err := r.exchange(ctx, r.word(ended, nil))
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(words, func(w []float64) bool { return w[wordEnded] == 0 }), nil
}

// exchange gives the other workers a word and takes theirs, in their order; the dead have none. A worker that was started again alone may
// come in the middle of what the others do: it goes on in their epoch.
func (r *Run) exchange(ctx context.Context, word []float64) (words [][]float64, err error) {
	all, err := r.Fleet.Util().AllGather(ctx, word)
	if err != nil {
		return nil, err
	}
	r.leads = slices.IndexFunc(all, func(w []float64) bool { return w != nil }) == r.Fleet.WorkerIndex()
	for i, w := range all {
		switch {
		case w == nil:
			continue
		case len(w) < wordLen:
			return nil, fmt.Errorf("train: worker %d sent %d numbers, a word has %d: do all run the same program?", i, len(w), wordLen)
		}
		words = append(words, w)
		r.over = r.over || w[wordEnded] > 0 && w[wordStop] > 0
		r.Epoch = max(r.Epoch, int(w[wordEpoch]))
	}
	return words, nil
}
