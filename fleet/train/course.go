package train

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/nn"
)

// course is a worker's way through the job's epochs. Its member asks the leader of package epoch, which knows where all
// workers are, what comes next.
type course struct {
	member *epoch.Member
	leads  bool // this worker prints and saves for all
	lone   bool // it was started again while the others train on
	alone  bool // the job has ended this epoch without it
	begun  int  // epochs that its hooks have begun
	ended  int  // epochs that the job has ended
	// middles is how many evaluations the job had made in the middle of the epoch when this worker began it.
	middles int
	// saw is the evaluation that its hooks have seen last, and before what it remembered before that.
	saw    int
	before memory
	closes bool        // its hooks have ended an epoch, and others' may not have
	over   *epoch.Told // the job is over
	// stands is what this worker has trained, where it stands, of the epoch of, and pace how fast, until that counts.
	stands nn.TrainResult
	of     int
	pace   *measured
}

// stand has this worker do what it is told, until that is to train, or to train no more.
func (r *Run) stand(ctx context.Context) (*epoch.Told, error) {
	for {
		t, err := r.ask(ctx)
		if err != nil {
			return nil, err
		}
		switch t.Do {
		case epoch.Measure:
			err = r.measure(ctx, t)
		case epoch.Act:
			err = r.act(ctx, t)
		case epoch.End:
			err = r.endEpoch(ctx, t)
		case epoch.Stand:
			r.course.member.Did(nil)
		case epoch.Rest:
			err = r.trainRest(ctx, t.Lost[0])
		case epoch.Choose:
			err = r.choose(ctx, t)
		case epoch.Over:
			r.course.over = t
			return t, nil
		default:
			r.course.alone = t.Alone
			return t, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// ask sends where this worker is until it is told what to do.
func (r *Run) ask(ctx context.Context) (*epoch.Told, error) {
	c := &r.course
	if why := r.ends.stop.Load(); why != nil && (!r.ends.late || c.member.At().Ended) {
		c.member.Wants(*why)
	}
	for pause := firstPause; ; pause = min(2*pause, lookPause) {
		t, err := epoch.Ask(ctx, r.Fleet, c.member.At())
		if err != nil {
			return nil, err
		}
		if !c.member.Told(t) { // another looks for the next day
			if err := awake.Rest(ctx, pause); err != nil {
				return nil, err
			}
			continue
		}
		c.leads = t.Lead == r.Fleet.WorkerIndex()
		if !c.leads {
			r.publishing.Release()
		}
		if t.Epochs > 0 && r.days != nil {
			r.Job.Epochs = t.Epochs
			if err := r.days.take(t.Epochs, t.Chosen); err != nil {
				return nil, err
			}
		}
		if t.Known > 0 {
			err = r.recall(t.Memory)
		}
		if err == nil && c.closes && t.Do != epoch.End {
			err = r.closed(ctx)
		}
		return t, err
	}
}

// recall takes what the job remembers, of which this worker lacks some.
func (r *Run) recall(memory []byte) error {
	m, err := parseMemory(memory)
	if err == nil {
		err = r.remember(m)
	}
	if err != nil {
		return fmt.Errorf("train: what the job remembers: %w", err)
	}
	r.readBack(m)
	return nil
}

// begin begins the job, or goes on with it, where the leader says.
func (r *Run) begin(ctx context.Context, own card) error {
	mine, err := json.Marshal(own)
	if err != nil {
		return err
	}
	c := &r.course
	c.member = epoch.NewMember(epoch.At{Worker: r.Fleet.WorkerIndex(), Life: 1, Stands: mine}, r.Fleet.FirstEpoch())
	t, err := r.ask(ctx)
	if err != nil {
		return err
	}
	r.Epoch, c.lone = t.First, !t.Together
	var cards []card
	for _, text := range t.Cards {
		var its card
		if text == nil { // a worker that was not there
			continue
		}
		if err := json.Unmarshal(text, &its); err != nil {
			return fmt.Errorf("train: the description of a worker's rows: %w; do all run the same build?", err)
		}
		cards = append(cards, its)
	}
	return r.shares.compare(ctx, cards, c.leads, c.lone)
}

// endEpoch calls the hooks of an epoch's end.
func (r *Run) endEpoch(ctx context.Context, t *epoch.Told) error {
	r.Epoch, r.Again = t.Epoch, t.Again
	err := r.hooks.epochEnded(ctx, r, r.last)
	r.Again = false
	if err != nil {
		return err
	}
	r.course.closes = true
	return r.did()
}

// closed goes on behind an epoch that the hooks of all have ended.
func (r *Run) closed(ctx context.Context) error {
	r.course.closes = false
	if err := r.record(r.Epoch + 1); err != nil || r.days != nil { // which has its checkpoint
		return err
	}
	return r.checkpoint(ctx)
}

// did reports that hooks have done what they were called for, with what they remember.
func (r *Run) did() error {
	m, err := r.memory()
	if err == nil {
		r.course.member.Did(m)
	}
	return err
}

// why is the reason why the job has stopped, "" if it has not.
func (r *Run) why() string {
	if r.course.over == nil {
		return ""
	}
	return r.course.over.Why
}

// short returns an error, on the leading worker, with the number of samples of lost workers that were not trained, if
// the job has ended without them.
func (r *Run) short() error {
	over := r.course.over
	if len(over.Lost) == 0 || !r.course.leads || over.Why != "" {
		return nil
	}
	var workers []int
	samples, exact := 0, true
	for _, l := range over.Lost {
		n, known := r.shares.behind(l.Worker, fleet.Position{Epoch: l.Epoch, Samples: int(l.Samples)})
		workers, samples, exact = append(workers, l.Worker), samples+n, exact && known
	}
	many := fmt.Sprint(samples)
	switch {
	case samples == 0 && exact:
		return nil
	case samples == 0:
		many = "some"
	case !exact:
		many = "about " + many
	}
	return fmt.Errorf("train: the job has ended without workers %v, which were not replaced: %s %w; a job "+
		"with -checkpoint that is started again with all workers trains them", workers, many, ErrShort)
}
