package session

import (
	"cmp"
	"time"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
)

// Small batches of a large model are pushed together by default: where dense weights have largeDense floats, they cost
// more to send than a few samples cost to train. What a thread has not sent is missing in the weights of all others,
// and each of them adds its own, so that a push may have unsentSamples over the square of the job's threads.
const (
	unsentSamples = 512
	largeDense    = 1 << 16
)

// unsentWait is how long a gradient waits at most for those of further steps.
const unsentWait = 100 * time.Millisecond

// pushSamples is how many samples a push waits for, of a worker with so many threads: the strategy's, or what suits the
// model.
func pushSamples(w *Worker, threads int) int {
	st := w.Strategy
	if st.PushSamples != 0 {
		return st.PushSamples
	}
	floats := 0
	for _, p := range w.Layout.Params {
		if !p.Embedding && !p.Frozen {
			floats += p.Size()
		}
	}
	if floats < largeDense || st.Queues() || rules.CheckPlain(w.Layout.Params, w.Rule) != nil {
		return 1
	}
	threads *= w.Workers
	return max(1, unsentSamples/threads/threads)
}

// unsent adds a session's gradients that wait to be pushed to the weights that it trains with, as servers will: by
// plain gradient descent, whose updates add up in any order.
type unsent struct {
	dense []optimizer.Rule // by param; nil for embeddings and frozen ones
	rows  []optimizer.Rule // by embedding
	state optimizer.State  // of the rate
}

func newUnsent(w *Worker) *unsent {
	u := &unsent{dense: make([]optimizer.Rule, len(w.Layout.Params))}
	for i, p := range w.Layout.Params {
		if r := rules.Unlimited(rules.For(w.Rule, p)); p.Embedding {
			u.rows = append(u.rows, r)
		} else {
			u.dense[i] = r
		}
	}
	return u
}

// addDense adds the dense gradients of a step to params.
func (u *unsent) addDense(params []*optimizer.Param, g gradient.Step) {
	for i, p := range params {
		if r := u.dense[i]; r != nil {
			r.Update(p.W, g.Dense[i], nil, &u.state)
		}
	}
}

// addRows adds the gradients of rows to those rows that a step has, its own and those that it reads beside.
func (u *unsent) addRows(st *optimizer.Step, g gradient.Step) {
	for at := range 2 * len(st.Rows) {
		e := at % len(st.Rows)
		if rule := u.rows[e]; rule != nil {
			u.addTo(rule, reads(st, at), g.Rows[e], st.Rows[e].Param.Dim())
		}
	}
}

// addTo adds those gradients whose ids r has too. Both have their ids in ascending order.
func (u *unsent) addTo(rule optimizer.Rule, r *optimizer.Rows, g gradient.Rows, dim int) {
	for i, j := 0, 0; i < len(r.IDs) && j < len(g.IDs); {
		switch cmp.Compare(r.IDs[i], g.IDs[j]) {
		case -1:
			i++
		case 1:
			j++
		default:
			rule.Update(r.W[i*dim:][:dim], g.G[j*dim:][:dim], nil, &u.state)
			i, j = i+1, j+1
		}
	}
}
