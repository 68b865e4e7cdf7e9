package nn

import (
	"github.com/gofleet/gofleet/optimizer"
)

// turn is a training step among all steps of a job: its worker, its thread, and its number among the thread's.
type turn struct {
	worker, thread int
	number         uint64 // from 1
}

// key is the seed of a node's draws in the step. The first thread of worker 0 has the keys of a process alone.
func (t turn) key(n *Node) uint64 {
	key := optimizer.Key(n.graph.seed+t.number-1, n.name)
	if who := uint64(t.worker)<<32 | uint64(t.thread); who > 0 {
		key = mix(key ^ mix(who))
	}
	return key
}

// turns are the last steps of the threads that have trained a graph, by thread and number of threads.
type turns map[[2]int]turn

// turn returns the next step of a thread. Executors that train as the same thread share its count.
func (g *Graph) turn(thread, threads int) turn {
	seat := [2]int{thread, max(threads, 1)}
	g.mu.Lock()
	last, ok := g.turns[seat]
	g.mu.Unlock()
	if !ok {
		last = g.begun(thread, threads)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if now, ok := g.turns[seat]; ok {
		last = now
	}
	last.number++
	if g.turns == nil {
		g.turns = turns{}
	}
	g.turns[seat] = last
	return last
}

// begun returns the last step of a thread that has made none in this process: the trainer's count, and at least the
// steps made with other numbers of threads.
func (g *Graph) begun(thread, threads int) turn {
	last := turn{thread: thread}
	_, trainer := g.bound()
	if c, ok := trainer.(optimizer.Counter); ok {
		last.worker, last.number = c.Made(thread, threads)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for seat, t := range g.turns {
		if seat[1] != max(threads, 1) {
			last.number = max(last.number, t.number)
		}
	}
	return last
}
