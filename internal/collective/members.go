package collective

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/peer"
)

// members is what a rank knows of the others: which process each of them is, when it last showed life, and whether it
// needs this one any more.
type members struct {
	rank      int // this one
	endpoints []string
	self      uint64       // this process's life
	clock     *awake.Clock // of all silence; the watch reads it at every tick

	mu         sync.Mutex    // guards what follows, lists by rank
	generation uint64        // 0 until all have joined
	lives      []uint64      // 0 where unknown
	seen       []time.Time   // the last sign of life
	trouble    []error       // why the last attempt to call it had no answer
	bye        []bool        // it needs nothing any more
	byes       chan struct{} // closed when that is said of all
}

func newMembers(rank int, endpoints []string, self uint64, clock *awake.Clock) *members {
	n := len(endpoints)
	m := &members{rank: rank, endpoints: endpoints, self: self, clock: clock, lives: make([]uint64, n),
		seen:    make([]time.Time, n),
		trouble: make([]error, n), bye: make([]bool, n), byes: make(chan struct{})}
	m.lives[rank], m.bye[rank] = self, true
	return m
}

func (m *members) ranks() int { return len(m.endpoints) }

// name is a rank for an error.
func (m *members) name(rank int) string { return fmt.Sprintf("rank %d (%s)", rank, m.endpoints[rank]) }

// about is an error about a rank.
func (m *members) about(rank int, err error) error {
	return &peer.Error{Role: "rank", Index: rank, Endpoint: m.endpoints[rank], Worker: m.rank, Err: err}
}

// names lists ranks, with their endpoints and when they last showed life.
func (m *members) names(ranks []int) string {
	if len(ranks) == 0 {
		return "nobody"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]string, len(ranks))
	for i, r := range ranks {
		last := "never seen"
		if !m.seen[r].IsZero() {
			last = fmt.Sprintf("last seen %v ago", m.clock.Since(m.seen[r]).Round(time.Millisecond))
		}
		all[i] = fmt.Sprintf("rank %d (%s, %s)", r, m.endpoints[r], last)
	}
	return strings.Join(all, ", ")
}

// request is the head of a message from this rank.
func (m *members) request(v verb) request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return request{verb: v, generation: m.generation, rank: m.rank, ranks: m.ranks()}
}

// knows notes the life of a rank; one that was another before has been started again.
func (m *members) knows(rank int, life uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before := m.lives[rank]; m.generation != 0 && before != life {
		return fmt.Errorf("%w: %s was started again; the other ranks hold what it has lost: start all of them again",
			ErrDead, m.name(rank))
	}
	m.lives[rank] = life
	return nil
}

// complete makes the lives of all ranks, which are known now, their generation.
func (m *members) complete() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation = generation(m.lives)
}

func (m *members) joined() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.generation != 0
}

// generation is one number for the lives of all ranks.
func generation(lives []uint64) uint64 {
	h := fnv.New64a()
	for _, l := range lives {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, l)) // a hash takes everything
	}
	return h.Sum64() | 1
}

// check refuses a message of another generation; until this one's is known, none. A rank that has not joined has none,
// and may ask and give up.
func (m *members) check(q *request) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	early := q.generation == 0 && (q.verb == verbProbe || q.verb == verbAbort)
	if m.generation != 0 && q.generation != m.generation && !early {
		return fmt.Errorf("%w: generation %x, this one is %x: a process of an earlier job", ErrMessage, q.generation,
			m.generation)
	}
	return nil
}

// see notes a sign of life.
func (m *members) see(rank int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[rank] = m.clock.Now()
}

// silence is for how long a rank has shown no life, counted from since at the earliest.
func (m *members) silence(rank int, since time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen[rank].After(since) {
		since = m.seen[rank]
	}
	return m.clock.Since(since)
}

// noteTrouble remembers why a rank has not answered.
func (m *members) noteTrouble(rank int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trouble[rank] = err
}

// why is what is known of ranks that have not answered: the first one's trouble.
func (m *members) why(ranks []int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range ranks {
		if m.trouble[r] != nil {
			return m.trouble[r]
		}
	}
	return errors.New("no answer yet")
}

// parted notes that a rank needs nothing any more.
func (m *members) parted(rank int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bye[rank] {
		return
	}
	m.bye[rank] = true
	for _, b := range m.bye {
		if !b {
			return
		}
	}
	close(m.byes)
}
