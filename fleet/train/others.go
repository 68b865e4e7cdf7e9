package train

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/fleet"
)

// others is what a worker has learned of the others, and its place among them, at the last meeting.
type others struct {
	gone []int       // workers that were not there
	here []int       // the workers that were, in the order of their words
	lost map[int]int // by worker that is gone: the first epoch that ended without it
	// epochs that the job has ended: a worker that was lost trains those of them that it lacks alone
	front  int
	epochs int  // of the job
	lag    bool // a worker lacked some
	owed   bool // examples of one are in no evaluation
	leads  bool
	lowest bool // of the living workers, which may set the rate
	late   bool // this worker was started again alone, and the others train on
	// beside is the number of workers that sent the same kind of message, and place this worker's place among them.
	beside, place int
}

// look finds a worker's place from the messages of all, by index, and reports whether some have fewer evaluations than
// others.
func (o *others) look(words []word, at []int, me int, mine kind) (lacking bool) {
	most, knows := 0, 0
	o.beside, o.place = 0, 0
	for i, w := range words {
		if w.Kind == mine {
			o.beside++
		}
		if w.Kind == mine && at[i] < me {
			o.place++
		}
		if w.Known > most {
			most, knows = w.Known, i
		}
		o.front = max(o.front, w.Front, w.Epoch)
	}
	o.lag = slices.ContainsFunc(words, func(w word) bool { return w.Kind == meets && w.Epoch < min(o.front, o.epochs) })
	o.owed = slices.ContainsFunc(words, func(w word) bool { return w.Owes > 0 })
	o.leads, o.lowest = at[knows] == me, at[0] == me
	return slices.ContainsFunc(words, func(w word) bool { return w.Known < most })
}

// miss records which workers are gone as an epoch ends without them.
func (o *others) miss(epoch int) {
	before := o.lost
	o.lost = map[int]int{}
	for _, w := range o.gone {
		o.lost[w] = epoch
		if first, known := before[w]; known {
			o.lost[w] = first
		}
	}
}

// exchange sends a message to the others and returns theirs, with the index of the worker of each.
func (o *others) exchange(ctx context.Context, f *fleet.Fleet, mine word) (words []word, at []int, err error) {
	var said bytes.Buffer
	if err := gob.NewEncoder(&said).Encode(mine); err != nil {
		return nil, nil, err
	}
	all, err := f.AllGatherBytes(ctx, said.Bytes())
	if err != nil {
		return nil, nil, err
	}
	stopped := f.Stopped()
	o.gone, o.here = nil, nil
	for i, b := range all {
		if b == nil && !slices.Contains(stopped, i) {
			o.gone = append(o.gone, i)
		}
		if b == nil {
			continue
		}
		var w word
		if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&w); err != nil {
			return nil, nil, fmt.Errorf("train: cannot decode worker %d's message; do all run the same program? %w",
				i, err)
		}
		words, at = append(words, w), append(at, i)
	}
	o.here = at
	return words, at, nil
}
