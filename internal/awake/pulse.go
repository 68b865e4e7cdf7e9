package awake

import (
	"slices"
	"sync"
	"time"
)

// Pulses records whether the loops of a process make progress that must do so whatever the process waits for. After the
// whole process was suspended, none counts as stuck. The zero value is ready, and nil records nothing.
type Pulses struct {
	mu    sync.Mutex // guards what follows, and the pulses
	clock *Clock
	loops []*Pulse
}

// Pulse records the progress of one loop.
type Pulse struct {
	all  *Pulses
	name string
	most time.Duration
	at   time.Time
}

// looks is the longest interval between readings of the clock, while loops run or health is asked for.
const looks = 10 * time.Second

// Begin registers a loop, which counts as stuck when it has not called Beat for longer than most.
func (p *Pulses) Begin(name string, most time.Duration) *Pulse {
	b := &Pulse{all: p, name: name, most: most}
	if p == nil {
		return b
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clock == nil {
		p.clock = NewClock(looks, time.Now)
	}
	b.at = p.clock.Now()
	p.loops = append(p.loops, b)
	return b
}

// Beat records that the loop makes progress.
func (b *Pulse) Beat() {
	if p := b.all; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		b.at = p.clock.Now()
	}
}

// End removes the loop.
func (b *Pulse) End() {
	if p := b.all; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.loops = slices.DeleteFunc(p.loops, func(o *Pulse) bool { return o == b })
	}
}

// Stuck returns the name of a loop that makes no progress, "" if there is none.
func (p *Pulses) Stuck() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.loops {
		if p.clock.Since(b.at) > b.most {
			return b.name
		}
	}
	return ""
}
