package trial

import (
	"fmt"
	"slices"
	"sync"
)

// Ledger records the pushes of a job whose roles die and are started again, and checks the weights that a process saw.
// Each push of a job has a number, and on every server a weight with that number, which no other push changes; so a
// server's state shows which pushes are in it.
//
// A generation is a run of the job, from one start of server 0 to the next: it begins from a checkpoint, or from
// nothing. The laws:
//
// - Nothing is doubled: no push counts twice on any server. - Nothing is lost: a push acknowledged before a look counts
// on every server; the pushes of a worker that stopped count in the model that the job leaves, unless another worker,
// which was to save it, ended later without having stopped. - Nothing is of another run: in a generation, pushes of
// earlier ones count as they did when it began, however late they arrive. - Nothing is of another life: after a process
// of a worker has joined, pushes of its earlier processes count as they did then. - Nothing is mixed: a generation
// begins on all servers from the same pushes. - Nothing is taken back: the pushes from which a generation began, and
// those in a whole checkpoint, are also in the beginning of every later generation.
//
// A push that was not acknowledged when its process died may count on some servers and not on others.
type Ledger struct {
	// Full is the amount that a push adds to its weight, and Among the most workers that share it in an update: it may
	// count a half, or a third.
	Full  float32
	Among int
	// Parts means that a push may count in parts, as in mode geo, until its worker has settled.
	Parts bool

	mu     sync.Mutex
	pushes []*Process // by number
	begins map[int][][]float32
	whole  []held
	joined []*Process // in the order of joining
	torso  *Process   // a process that ended without having stopped, after the last that stopped
}

// held are pushes that are in a whole checkpoint.
type held struct {
	generation int
	pushes     []int
}

// Process is a worker's process in the ledger.
type Process struct {
	Name       string
	Worker     int
	Generation int

	l            *Ledger
	first        [][]float32 // the weights that it saw after joining
	pushes       []int
	acknowledged int
	settled      bool
	stopped      bool
	died         bool
}

// Process returns a record of a worker's process that has joined a generation.
func (l *Ledger) Process(name string, worker, generation int) *Process {
	return &Process{Name: name, Worker: worker, Generation: generation, l: l}
}

// Joined records the weights of each server that a process sees after joining. Earlier processes of its worker are
// over.
func (p *Process) Joined(servers [][]float32) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.first = servers
	p.l.joined = append(p.l.joined, p)
}

// Push returns the number of the next push.
func (p *Process) Push() int {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.l.pushes = append(p.l.pushes, p)
	p.pushes = append(p.pushes, len(p.l.pushes)-1)
	return len(p.l.pushes) - 1
}

// Acknowledged records that the first n pushes of the process are acknowledged.
func (p *Process) Acknowledged(n int) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.acknowledged = max(p.acknowledged, n)
}

// Settled records that all pushes are acknowledged, with all their parts.
func (p *Process) Settled() {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.acknowledged, p.settled = len(p.pushes), true
}

// Stopped records that the process has finished its work.
func (p *Process) Stopped() {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.stopped, p.l.torso = true, nil
}

// Died records that the process was killed, or was refused.
func (p *Process) Died() {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	if p.died = !p.settled; !p.stopped {
		p.l.torso = p
	}
}

// Cut records that a process's messages are no longer delivered, or delivered late, though it runs on.
func (l *Ledger) Cut(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pushes {
		p.died = p.died || p.Name == name && !p.settled
	}
}

// Look must be called before a process looks at weights, or has a checkpoint saved: pushes that are acknowledged now
// must be there.
func (l *Ledger) Look() *Sight {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &Sight{l: l, joined: l.joined}
	for number, p := range l.pushes {
		if p.certain(number, l.Parts) {
			s.certain = append(s.certain, number)
		}
	}
	return s
}

// certain reports whether a push must count.
func (p *Process) certain(number int, parts bool) bool {
	return p.settled || !parts && slices.Index(p.pushes, number) < p.acknowledged
}

// Sight is a look at weights.
type Sight struct {
	l       *Ledger
	certain []int      // pushes that have to count
	joined  []*Process // before the look
}

// Saved records that a checkpoint requested after the look is whole.
func (s *Sight) Saved(generation int) {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.l.whole = append(s.l.whole, held{generation, s.of(generation)})
}

// of returns the certain pushes of a generation.
func (s *Sight) of(generation int) (all []int) {
	for _, number := range s.certain {
		if s.l.pushes[number].Generation == generation {
			all = append(all, number)
		}
	}
	return all
}

// Saw returns what is wrong with the weights that a process of a generation saw, each server's by the number of the
// push.
func (s *Sight) Saw(generation int, servers [][]float32) error {
	l := s.l
	l.mu.Lock()
	defer l.mu.Unlock()
	began := l.begins[generation]
	if len(began) < len(servers) {
		if err := l.begin(generation, servers); err != nil {
			return err
		}
		began = append(began, servers[len(began):]...)
	}
	for server, weights := range servers {
		for number, weight := range weights {
			if err := l.count(generation, number, weight, began[server][number]); err != nil {
				return fmt.Errorf("on server %d of generation %d: %w", server, generation, err)
			}
		}
		for _, number := range s.of(generation) {
			if !l.once(weights[number]) {
				return fmt.Errorf("lost: on server %d of generation %d push %d of %s counts %v: it was acknowledged",
					server, generation,
					number, l.pushes[number].Name, weights[number])
			}
		}
	}
	return s.after(generation, servers)
}

// after checks the pushes of lives that were over when the look began.
func (s *Sight) after(generation int, servers [][]float32) error {
	for i, p := range s.joined {
		if p.Generation != generation {
			continue
		}
		for number, q := range s.l.pushes {
			if at := slices.Index(s.joined, q); q.Worker != p.Worker || at < 0 || at >= i {
				continue
			}
			for server, then := range p.first {
				if now := servers[server][number]; now != then[number] {
					return fmt.Errorf(
						"of another life: on server %d push %d of %s counts %v, and %v when %s had joined",
						server, number,
						q.Name, now, then[number], p.Name)
				}
			}
		}
	}
	return nil
}

// Left returns what is wrong with the model that a job has left, in one copy: it must contain the pushes of all
// processes that stopped in its last generation.
func (l *Ledger) Left(weights []float32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := 0
	for _, p := range l.pushes {
		if p.stopped {
			last = max(last, p.Generation)
		}
	}
	for number, weight := range weights {
		switch p := l.pushOf(number); {
		case weight != 0 && !l.once(weight) && !(l.Parts && weight > 0 && weight < l.Full):
			return fmt.Errorf("doubled: in what is left push %d counts %v", number, weight)
		case p != nil && p.Generation == last && p.stopped && !l.once(weight) &&
			(l.torso == nil || l.torso.Generation != last):
			return fmt.Errorf("lost: in what is left push %d of %s counts %v, and its worker had stopped", number,
				p.Name, weight)
		}
	}
	return nil
}

func (l *Ledger) pushOf(number int) *Process {
	if number < len(l.pushes) {
		return l.pushes[number]
	}
	return nil
}

// begin checks the beginning of a generation.
func (l *Ledger) begin(generation int, servers [][]float32) error {
	if l.begins == nil {
		l.begins = map[int][][]float32{}
	}
	l.begins[generation] = servers
	for number, p := range l.pushes {
		if p.Generation >= generation {
			continue
		}
		for server, weights := range servers {
			if err := l.goesOn(generation, number, server, weights[number], servers[0][number]); err != nil {
				return fmt.Errorf("generation %d begins on server %d with push %d of %s as %v: %w",
					generation, server, number, p.Name, weights[number], err)
			}
		}
	}
	for _, h := range l.whole {
		for _, number := range h.pushes {
			if h.generation < generation && !l.once(servers[0][number]) {
				return fmt.Errorf("taken back: generation %d begins with push %d of %s as %v; a whole checkpoint of "+
					"generation %d held it",
					generation, number, l.pushes[number].Name, servers[0][number], h.generation)
			}
		}
	}
	return nil
}

// goesOn checks a weight at the beginning of a generation: against server 0's, and against earlier generations'.
func (l *Ledger) goesOn(generation, number, server int, weight, first float32) error {
	p := l.pushes[number]
	if sure := !p.died || slices.Index(p.pushes, number) < p.acknowledged; sure && (weight == 0) != (first == 0) {
		return fmt.Errorf("mixed: on server 0 it is %v", first)
	}
	for before, began := range l.begins {
		if before <= p.Generation || before >= generation || server >= len(began) {
			continue
		}
		if began[server][number] != 0 && weight != began[server][number] {
			return fmt.Errorf("taken back: generation %d began with %v", before, began[server][number])
		}
	}
	return nil
}

// count checks a weight by itself, and against its value when the generation began.
func (l *Ledger) count(generation, number int, weight, began float32) error {
	p := l.pushOf(number)
	switch {
	case p == nil && weight != 0:
		return fmt.Errorf("push %d counts %v: nobody has made it", number, weight)
	case weight != 0 && !l.once(weight) && !(l.Parts && weight > 0 && weight < l.Full):
		return fmt.Errorf("doubled: push %d of %s counts %v", number, p.Name, weight)
	case p != nil && p.Generation < generation && weight != began:
		return fmt.Errorf(
			"of another run: push %d of %s, of generation %d, counts %v, and %v when the generation began",
			number, p.Name,
			p.Generation, weight, began)
	}
	return nil
}

// once reports whether a weight counts its push once.
func (l *Ledger) once(weight float32) bool {
	for k := 1; k <= max(1, l.Among); k++ {
		if d := weight - l.Full/float32(k); d > -1e-3 && d < 1e-3 {
			return true
		}
	}
	return false
}

// Counts returns the numbers of pushes, of generations, and of generations that did not begin from nothing.
func (l *Ledger) Counts() (pushes, generations, from int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for generation, servers := range l.begins {
		for number, weight := range servers[0] {
			if p := l.pushOf(number); p != nil && p.Generation < generation && weight != 0 {
				from++
				break
			}
		}
	}
	return len(l.pushes), len(l.begins), from
}
