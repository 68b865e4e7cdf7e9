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

// members records, for each rank, its process's life, when it last answered, and whether it still needs answers.
type members struct {
	rank      int // this process's
	endpoints []string
	self      uint64       // this process's life
	clock     *awake.Clock // measures all silence; watch reads it at every tick

	mu         sync.Mutex    // guards what follows, lists by rank
	generation uint64        // 0 until all have joined
	lives      []uint64      // 0 where unknown
	seen       []time.Time   // when it last answered or called
	trouble    []error       // why the last attempt to call it had no answer
	bye        []bool        // it needs no more answers
	byes       chan struct{} // closed when all ranks need no more answers
}

func newMembers(rank int, endpoints []string, self uint64, clock *awake.Clock) *members {
	n := len(endpoints)
	m := &members{rank: rank, endpoints: endpoints, self: self, clock: clock, lives: make([]uint64, n),
		seen: make([]time.Time, n), trouble: make([]error, n), bye: make([]bool, n), byes: make(chan struct{})}
	m.lives[rank], m.bye[rank] = self, true
	return m
}

func (m *members) ranks() int { return len(m.endpoints) }

// name returns a rank's name in errors.
func (m *members) name(rank int) string { return fmt.Sprintf("rank %d (%s)", rank, m.endpoints[rank]) }

// about wraps an error about a rank in a *peer.Error.
func (m *members) about(rank int, err error) error {
	return &peer.Error{Role: "rank", Index: rank, Endpoint: m.endpoints[rank], Worker: m.rank, Err: err}
}

// names lists ranks, with their endpoints and when they were last seen.
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

// request returns the header of a message from this rank.
func (m *members) request(v verb) request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return request{verb: v, generation: m.generation, rank: m.rank, ranks: m.ranks()}
}

// knows stores the life of a rank. If the group is complete, another life is an error: the rank was restarted.
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

// complete computes the generation from the lives of all ranks.
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

// generation returns a hash of the lives of all ranks, never 0.
func generation(lives []uint64) uint64 {
	h := fnv.New64a()
	for _, l := range lives {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, l)) // a hash takes everything
	}
	return h.Sum64() | 1
}

// check returns an error for a message of another generation. Before this group's generation is set it accepts all. It
// also accepts probes and aborts of a rank that has not joined, which have no generation.
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

// see records that a rank has answered or called.
func (m *members) see(rank int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[rank] = m.clock.Now()
}

// silence returns for how long a rank was not seen, counted from since at the earliest.
func (m *members) silence(rank int, since time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen[rank].After(since) {
		since = m.seen[rank]
	}
	return m.clock.Since(since)
}

// noteTrouble stores the error of the last attempt at a rank.
func (m *members) noteTrouble(rank int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trouble[rank] = err
}

// why returns the first error of attempts at the given ranks.
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

// parted records that a rank needs no more answers.
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
