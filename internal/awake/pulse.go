package awake

import (
	"slices"
	"sync"
	"time"
)

// Pulses say whether the loops of a process move that are to move whatever it waits for. A process that stood still as
// a whole finds none of them stuck. The zero value is ready, and nil takes no note.
type Pulses struct {
	mu    sync.Mutex // guards what follows, and the pulses
	clock *Clock
	loops []*Pulse
}

// Pulse is that of one loop.
type Pulse struct {
	all  *Pulses
	name string
	most time.Duration
	at   time.Time
}

// looks is how often somebody asks after pulses at least, while somebody does.
const looks = 10 * time.Second

// Begin begins a loop, which is stuck when it has not beaten for longer than most.
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

// Beat says that the loop moves.
func (b *Pulse) Beat() {
	if p := b.all; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		b.at = p.clock.Now()
	}
}

// End ends the loop.
func (b *Pulse) End() {
	if p := b.all; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.loops = slices.DeleteFunc(p.loops, func(o *Pulse) bool { return o == b })
	}
}

// Stuck names a loop that does not move, "" if all do.
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
