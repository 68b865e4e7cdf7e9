package epoch

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// Circle leads a job without servers: each member has a leader of its own, all exchange what they say, and so all
// leaders know the same and tell the same.
type Circle struct {
	mu     sync.Mutex
	leader *Leader
}

// Begin begins a run of a job, which goes on from the facts of a checkpoint if there are any.
func (c *Circle) Begin(members int, facts []Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leader = NewLeader(Job{Members: members, InStep: true, AtOnce: members > 1})
	c.leader.Resume(facts)
}

// Ask sends where a member is, and returns what it does next. exchange sends that to all, and returns what each of them
// sends.
func (c *Circle) Ask(ctx context.Context, a At,
	exchange func(context.Context, []byte) ([][]byte, error)) (*Told, error) {
	said, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	all, err := exchange(ctx, said)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for w, said := range all {
		var at At
		if err := json.Unmarshal(said, &at); err != nil {
			return nil, fmt.Errorf("what worker %d does in the job's epochs cannot be decoded; do all run the same "+
				"build? %w", w, err)
		}
		at.Worker = w
		c.leader.Say(at)
	}
	c.leader.Note()
	if t := c.leader.Told(a.Worker); t != nil && t.N == a.N {
		return t, nil
	}
	return new(Told), nil
}

// Moment identifies what the facts record.
func (c *Circle) Moment() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leader == nil {
		return ""
	}
	return c.leader.Moment()
}

// Facts are the job's, for a checkpoint.
func (c *Circle) Facts() []Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leader == nil {
		return nil
	}
	return c.leader.Facts()
}
