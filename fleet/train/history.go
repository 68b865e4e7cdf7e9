package train

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/epoch"
)

// share is a worker's share of an evaluation, as it sends it to the others.
type share struct {
	// Sums are its measurements: examples, those that it passed over, the loss and its weight, and sums of the nodes.
	Sums tallies
	// Scores are those of each node, as counts have them.
	Scores [][]byte
	// Trained are sums of metrics over the examples that it trained on.
	Trained tallies
	// Chances are what it has predicted and observed for two classes.
	Chances tallies
	// Spreads are those of its predictions, of one task after the other.
	Spreads tallies
	Pace    *measured // its pace up to here
	// Found is what it has found of a day that is evaluated before it is trained, and Labels are sums over its labels.
	Found  *found
	Labels tallies
	// Slices are shares of the rows by value of Days.By, and Of says of which a slice is.
	Slices []share
	Of     sliceOf
}

// measure measures this worker's share of the test rows.
func (r *Run) measure(ctx context.Context, t *epoch.Told) error {
	c := &r.course
	if c.pace == nil {
		c.pace = r.meter.drain()
	}
	if r.days != nil {
		if err := r.countRows(ctx, t.Counts); err != nil {
			return err
		}
		if r.Epoch = t.Epoch; !t.End {
			if err := r.loadDay(ctx); err != nil {
				return err
			}
		}
		r.tests.judges(!t.End)
	} else if a := r.tests.constant; a != nil && t.Epoch == 0 {
		if err := a.gather(t.Stands); err != nil {
			return err
		}
	}
	so, passed := c.stands, 0
	if c.of == t.Epoch {
		passed = so.Passed
	} else {
		so.Samples, so.Loss, so.Weight = 0, 0, 0
	}
	for _, s := range t.Counts {
		passed += r.shares.uncounted(s.Worker, s.From, s.To)
	}
	var mine share
	var err error
	switch {
	case r.tests.rows == nil:
	case r.days != nil && r.days.now.by != nil:
		mine, err = r.tests.slices(ctx, t.Stands)
	default:
		mine, err = r.tests.measured(ctx, r.tests.share(t.Share, t.Of))
	}
	if r.tests.rows != nil && err == nil {
		err = r.tests.exe.Close(ctx)
	}
	if err != nil {
		return err
	}
	if r.days != nil && r.tests.rows != nil {
		mine.Found, mine.Labels = &r.days.now.found, slices.Clone(r.tests.constant.took())
	}
	mine.Sums = append(tallies{float64(so.Samples), float64(passed), so.Loss * so.Weight, so.Weight}, mine.Sums...)
	mine.Trained, mine.Pace = r.tests.trained(so), c.pace
	if c.leads {
		if factor, err := r.Fleet.RateFactor(ctx); err == nil {
			c.pace.LR = r.meter.rate(r.Job.Rule, factor)
		}
	}
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(mine); err != nil {
		return err
	}
	c.member.Did(text.Bytes())
	return nil
}

// act makes an evaluation of all shares, and calls the hooks. If it has done so, and the worker that led may not have
// come to its end, it goes back to before that, and does it again.
func (r *Run) act(ctx context.Context, t *epoch.Told) (err error) {
	m, c := t.Made, &r.course
	if t.Again && c.saw == m.Number {
		err = r.remember(c.before)
	} else {
		c.before, err = r.remembered()
	}
	if err != nil {
		return err
	}
	c.saw, r.Again = m.Number, t.Again
	defer func() { r.Again = false }()
	r.Epoch, r.course.pace = m.Epoch, nil
	if err := r.beginEpoch(ctx); err != nil {
		return err
	}
	shares := make([]share, len(m.Shares))
	for i, text := range m.Shares {
		if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&shares[i]); err != nil {
			return fmt.Errorf("train: share %d of an evaluation cannot be decoded; do all run the same program? %w", i,
				err)
		}
	}
	e, err := r.tests.join(shares, r.tests.rows != nil && r.days == nil || r.days != nil && !m.End)
	if err != nil {
		return err
	}
	e.End, e.Epoch, e.Examples = m.End, min(m.Epoch+1, r.Job.Epochs), e.Examples+r.past.before
	if e.End {
		r.past.partly = part{Trained: e.Examples - r.past.before, Rows: r.shares.all}
		r.past.before, r.course.ended = e.Examples, m.Ended
	}
	var before Pace
	if n := len(r.History); n > 0 {
		before = r.Pace(r.History[n-1])
	}
	r.paces.add(e, before, shares)
	r.tests.judged = r.tests.chances(shares)
	if r.days != nil && !m.End {
		if err := r.judged(ctx, m, e, shares); err != nil {
			return err
		}
	}
	r.History = append(r.History, e)
	if r.course.leads {
		label := r.label()
		fmt.Fprintf(r.Job.Stdout, "%s%s: %s\n", r.Pace(e).ofAll(label, r.Fleet.WorkerNum()), label,
			r.tests.describe(e, "", nil))
		if r.days != nil && !m.End {
			fmt.Fprint(r.Job.Stdout, r.tests.describeSlices(r.days.facts.Slices))
		}
		if r.days == nil || r.days.facts.rows() > 0 {
			r.tests.warnUnmeasured(e)
		}
		r.tests.warnDead(shares, e)
	}
	r.shown.publish(&r.curve, r.History)
	if err := r.hooks.evaluated(ctx, r, e); err != nil {
		return err
	}
	if err := r.record(r.Epoch); err != nil {
		return err
	}
	return r.did()
}

// beginEpoch calls the hooks of an epoch's begin, once.
func (r *Run) beginEpoch(ctx context.Context) error {
	if r.course.begun > r.Epoch || r.Epoch >= r.Job.Epochs {
		return nil
	}
	r.course.begun = r.Epoch + 1
	return r.hooks.plain(ctx, r, func(h Hooks) func(context.Context, *Run) error { return h.EpochBegin })
}
