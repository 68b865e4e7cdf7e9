package train

import (
	"context"
	"encoding/json"
)

// meet waits for the others, and returns the messages of the living workers, in their order. others is the kind of
// their messages, which a late worker joins.
func (r *Run) meet(ctx context.Context, mine word) (words []word, others kind, err error) {
	mine.Epoch, mine.Stop, mine.Known, mine.Front = r.Epoch, r.ends.stopping(), len(r.History), r.others.front
	mine.Owes = r.past.extra
	words, at, err := r.others.exchange(ctx, r.Fleet, mine)
	if err != nil {
		return nil, 0, err
	}
	others = mine.Kind
	for _, w := range words {
		if mine.Kind == meets && w.Kind != meets {
			others = w.Kind
		}
		r.ends.agree(w)
	}
	lacking := r.others.look(words, at, r.Fleet.WorkerIndex(), mine.Kind)
	if others == recalls || !lacking || mine.Kind == recalls {
		return words, others, r.recall(words)
	}
	return words, others, r.inform(ctx, mine.Ended)
}

// inform makes the leading worker send its state to the others; all workers at the meeting call it.
func (r *Run) inform(ctx context.Context, ended bool) (err error) {
	told := word{Kind: recalls, Ended: ended}
	if r.others.leads {
		m, err := r.memory()
		if err == nil {
			told.History, err = json.Marshal(m)
		}
		if err != nil {
			return err
		}
	}
	lag := r.others.lag
	_, _, err = r.meet(ctx, told)
	r.others.lag = lag // workers that lack epochs have reported it before
	return err
}
