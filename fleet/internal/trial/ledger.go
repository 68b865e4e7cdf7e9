package trial

import (
	"fmt"
	"slices"
	"sync"
)

// Ledger holds what became of the pushes of a job whose roles die and are started again, and says what is wrong with
// the weights that somebody saw. Each push of a job has a number, and on every server a weight with that number, which
// it changes and no other push does; so a state of a server shows which pushes are in it.
//
// A generation is a run of the job, from one start of server 0 to the next: what it begins from is a checkpoint, or
// nothing. The laws:
//
//   - Nothing is doubled: no push counts twice on any server.
//   - Nothing is lost: what was acknowledged before somebody looks counts on every server; what a worker that stopped
//     had pushed counts in what the job leaves behind, unless another ended later without having stopped, which was to
//     save it.
//   - Nothing is of another run: in a generation, pushes of earlier ones count as they did when it began, however late
//     they come.
//   - Nothing is of another life: from when a process of a worker has joined, pushes of its processes before count as
//     they did then.
//   - Nothing is mixed: a generation begins on all servers from the same pushes.
//   - Nothing is taken back: what a generation began from, and what a checkpoint held that was whole, every later one
//     begins from too.
//
// A push that was not acknowledged when its process died may count on some servers and not on others.
type Ledger struct {
	// Full is what a push adds to its weight, and Among the most workers that share it in an update: it may count a
	// half, or a third.
	Full  float32
	Among int
	// Parts says that a push may count in parts, as in mode geo, until its worker has settled.
	Parts bool

	mu     sync.Mutex
	pushes []*Process // by number
	begins map[int][][]float32
	whole  []held
	joined []*Process // in their order
	torso  *Process   // ended without having stopped, after the last that has
}

// held are the pushes that a whole checkpoint has at least.
type held struct {
	generation int
	pushes     []int
}

// Process is a worker's process, as the ledger knows it.
type Process struct {
	Name       string
	Worker     int
	Generation int

	l            *Ledger
	first        [][]float32 // what it saw when it had joined
	pushes       []int
	acknowledged int
	settled      bool
	stopped      bool
	died         bool
}

// Process notes that a worker's process has joined.
func (l *Ledger) Process(name string, worker, generation int) *Process {
	return &Process{Name: name, Worker: worker, Generation: generation, l: l}
}

// Joined notes what a process sees when it has joined, of each server. Its worker's other processes that have joined
// are over.
func (p *Process) Joined(servers [][]float32) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.first = servers
	p.l.joined = append(p.l.joined, p)
}

// Push is the number of the next push.
func (p *Process) Push() int {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.l.pushes = append(p.l.pushes, p)
	p.pushes = append(p.pushes, len(p.l.pushes)-1)
	return len(p.l.pushes) - 1
}

// Acknowledged notes that so many of the process's pushes are acknowledged, the first ones.
func (p *Process) Acknowledged(n int) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.acknowledged = max(p.acknowledged, n)
}

// Settled notes that all pushes are acknowledged, with all their parts.
func (p *Process) Settled() {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.acknowledged, p.settled = len(p.pushes), true
}

// Stopped notes that the process has done its work.
func (p *Process) Stopped() {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.stopped, p.l.torso = true, nil
}

// Died notes that the process was killed, or was refused.
func (p *Process) Died() {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	if p.died = !p.settled; !p.stopped {
		p.l.torso = p
	}
}

// Cut notes that nothing comes from a process any more, or late, though it lives on.
func (l *Ledger) Cut(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pushes {
		p.died = p.died || p.Name == name && !p.settled
	}
}

// Look is to be called before somebody looks at weights, or has a checkpoint saved: what is acknowledged now has to be
// there.
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

// certain says whether a push must count.
func (p *Process) certain(number int, parts bool) bool {
	return p.settled || !parts && slices.Index(p.pushes, number) < p.acknowledged
}

// Sight is a look at weights.
type Sight struct {
	l       *Ledger
	certain []int      // pushes that have to count
	joined  []*Process // before
}

// Saved notes that a checkpoint which was asked for after the look is whole.
func (s *Sight) Saved(generation int) {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.l.whole = append(s.l.whole, held{generation, s.of(generation)})
}

// of are the certain pushes of a generation.
func (s *Sight) of(generation int) (all []int) {
	for _, number := range s.certain {
		if s.l.pushes[number].Generation == generation {
			all = append(all, number)
		}
	}
	return all
}

// Saw says what is wrong with the weights that a process of a generation saw, each server's by the number of the push.
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

// after says what has come of lives that were over when the look began.
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

// Left says what is wrong with what a job has left behind, in one copy: the pushes of all that stopped in its last
// generation are there.
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

// begin checks what a generation begins from.
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

// goesOn checks a weight with which a generation begins: beside server 0's, and beside earlier
// generations'.
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

// count checks a weight by itself, and beside what it was when the generation began.
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

// once says whether a weight counts its push once.
func (l *Ledger) once(weight float32) bool {
	for k := 1; k <= max(1, l.Among); k++ {
		if d := weight - l.Full/float32(k); d > -1e-3 && d < 1e-3 {
			return true
		}
	}
	return false
}

// Counts are how many pushes were made, in how many generations, and how many of these began from something.
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
