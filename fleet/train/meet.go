package train

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"slices"
)

// Workers meet at the end of an epoch, and for an evaluation in the middle of one: each says how far it is, they
// measure, and at an epoch's end they agree whether there is another. What they say is always a word, so that a worker
// that was started again alone, and comes in the middle of what the others do, finds its place by what they say.
type word struct {
	Kind  kind
	Epoch int  // from 0
	Ended bool // the worker has trained on its share of the epoch
	Stop  bool // a hook of it has stopped the job
	Known int  // evaluations that it knows of
	// Card is what rows it has, when the job begins.
	Card  *card
	Front int // epochs that it knows to have ended
	// Sums are what it has measured.
	Sums tallies
	// History is its memory, as JSON, for workers that know less.
	History []byte
}

// kind is what workers say a word for.
type kind int

const (
	meets    kind = iota // how far each is
	recalls              // the history, for workers that lack some of it
	measures             // what was measured
	agrees               // that the epoch is over
	acts                 // that hooks have done what an evaluation in the middle of an epoch asks for
)

// meet waits for the others, and takes the words of the living, in their order. The kind is of what they
// do, which this worker joins if it is late.
func (r *Run) meet(ctx context.Context, mine word) (words []word, others kind, err error) {
	mine.Epoch, mine.Stop, mine.Known, mine.Front = r.Epoch, r.stopping(), len(r.History), r.front
	words, at, err := r.exchange(ctx, mine)
	if err != nil {
		return nil, 0, err
	}
	others, most, knows := mine.Kind, 0, 0
	for i, w := range words {
		if mine.Kind == meets && w.Kind != meets {
			others = w.Kind
		}
		if w.Known > most {
			most, knows = w.Known, i
		}
		r.over = r.over || w.Ended && w.Stop
		if w.Stop {
			r.agreed.Store(true)
		}
		r.front = max(r.front, w.Front, w.Epoch)
	}
	r.lag = slices.ContainsFunc(words, func(w word) bool { return w.Kind == meets && w.Epoch < r.front })
	r.leads, r.lowest = at[knows] == r.Fleet.WorkerIndex(), at[0] == r.Fleet.WorkerIndex()
	lacking := slices.ContainsFunc(words, func(w word) bool { return w.Known < most })
	if others == recalls || !lacking || mine.Kind == recalls {
		return words, others, r.recall(words)
	}
	return words, others, r.tell(ctx, mine.Ended)
}

// tell has the workers that know the most tell the others; all who were at the meeting call it.
func (r *Run) tell(ctx context.Context, ended bool) (err error) {
	told := word{Kind: recalls, Ended: ended}
	if r.leads {
		m, err := r.memory()
		if err == nil {
			told.History, err = json.Marshal(m)
		}
		if err != nil {
			return err
		}
	}
	lag := r.lag
	_, _, err = r.meet(ctx, told)
	r.lag = lag // who lacks epochs has said so before
	return err
}

// exchange gives the others a word and takes theirs, with the worker that each is of.
func (r *Run) exchange(ctx context.Context, mine word) (words []word, at []int, err error) {
	var said bytes.Buffer
	if err := gob.NewEncoder(&said).Encode(mine); err != nil {
		return nil, nil, err
	}
	all, err := r.Fleet.AllGatherBytes(ctx, said.Bytes())
	if err != nil {
		return nil, nil, err
	}
	stopped := r.Fleet.Stopped()
	r.gone = nil
	for i, b := range all {
		if b == nil && !slices.Contains(stopped, i) {
			r.gone = append(r.gone, i)
		}
		if b == nil {
			continue
		}
		var w word
		if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&w); err != nil {
			return nil, nil, fmt.Errorf("train: what worker %d says is not understood; do all run the same program? %w",
				i, err)
		}
		words, at = append(words, w), append(at, i)
	}
	return words, at, nil
}
