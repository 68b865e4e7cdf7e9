package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// contested is a server's endpoint that has two processes: the first is cut off for a while, with all requests that it
// has taken; the second takes its place; and when the first goes on, since all know the second, what is sent there
// reaches one of the two, as by connections that were idle meanwhile.
type contested struct {
	mu       sync.Mutex
	r        *rand.Rand
	cut      chan struct{}  // closed when the first is cut off
	replaced chan struct{}  // closed when the second serves
	goes     chan struct{}  // closed when the first goes on: when all others have had an answer of the second
	others   int            // of them there are so many
	late     int            // requests that reached the first then
	know     map[*seat]bool // who has had an answer of the second
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// seat is a role's way to the network where a place is contested.
type seat struct {
	transport.Transport
	*contested
	endpoint      string // that is contested
	first, second bool   // it is this process of the place
}

func (s *seat) Listen(endpoint string) (transport.Listener, error) {
	if s.second {
		endpoint += "2"
	}
	return s.Transport.Listen(endpoint)
}

// Call implements [transport.Transport].
func (s *seat) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	still := func() error { // until the first goes on
		select {
		case <-s.goes:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if s.first && isClosed(s.cut) {
		if err := still(); err != nil {
			return err
		}
	}
	if endpoint != s.endpoint || s.first {
		return s.Transport.Call(ctx, endpoint, req, read)
	}
	s.mu.Lock()
	second := isClosed(s.replaced) && !(isClosed(s.goes) && s.r.IntN(2) == 0)
	if isClosed(s.goes) && !second {
		s.late++
	}
	s.mu.Unlock()
	if second {
		return s.Transport.Call(ctx, endpoint+"2", req, func(body []byte) error {
			err := read(body)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.know[s] = true; len(s.know) == s.others && !isClosed(s.goes) {
				close(s.goes)
			}
			return err
		})
	}
	if isClosed(s.cut) {
		if err := still(); err != nil {
			return err
		}
	}
	return s.Transport.Call(ctx, endpoint, req, func(body []byte) error {
		if isClosed(s.cut) { // the answer is written when it goes on
			if err := still(); err != nil {
				return err
			}
		}
		return read(body)
	})
}

// TestAServerIsReplaced: a server is cut off from all, a process elsewhere comes back from its journal, where no lock
// keeps it out, and then the first goes on. Every push counts once, whatever the first answers and writes still, and
// the first ends by itself, saying why.
func TestAServerIsReplaced(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, strategy.Modes()) {
		trial.EachSeed(t, 4, func(seed trial.Seed) {
			t.Run(fmt.Sprintf("%s/%d", mode, seed.N), func(t *testing.T) {
				s, err := strategy.Named(string(mode))
				if err != nil {
					t.Fatal(err)
				}
				s = journaled(s, t.TempDir(), []strategy.Journal{strategy.JournalProcess, strategy.JournalMachine}[seed.N/2%2])
				replace(t, s, int(seed.N%2), rand.New(rand.NewPCG(seed.N, 9)), seed.N%3 == 2)
			})
		})
	}
}

// replace is one such job. Where the first goes on at once, some may believe an answer of it before they know the
// second: then all go back.
func replace(t *testing.T, s strategy.Strategy, victim int, r *rand.Rand, atOnce bool) {
	const workers, steps = 2, 400
	want := float32(workers * steps)
	if s.Mode == strategy.ModeSync {
		want = steps
	}
	s.Recovery.Every = strategy.Duration(1700 * time.Millisecond)
	synctest.Test(t, func(t *testing.T) {
		cluster, network := quiet(2, workers)
		c := &contested{r: r, know: map[*seat]bool{}, others: workers + 1, cut: make(chan struct{}), replaced: make(chan struct{}), goes: make(chan struct{})}
		cutOff := 200*time.Millisecond + time.Duration(r.Int64N(int64(2*time.Second)))
		play := func(ctx context.Context, f *fleet.Fleet, as *seat) error {
			as.Transport, as.contested, as.endpoint = network, c, f.ServerEndpoints()[victim]
			again, err := trial.Another(f, as)
			if err != nil {
				return err
			}
			defer again.Close()
			return countSlowly(ctx, again, s, steps, want)
		}
		for role, err := range cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			if !f.IsServer() || f.ServerIndex() != victim {
				return play(ctx, f, new(seat))
			}
			first := make(chan error, 1)
			go func() { first <- play(ctx, f, &seat{first: true}) }()
			time.Sleep(cutOff)
			close(c.cut)
			time.Sleep(time.Second)
			locks := []string{filepath.Join(s.Recovery.JournalDir, fmt.Sprintf("server-%d-of-2.lock", victim))}
			if victim == 0 {
				locks = append(locks, filepath.Join(s.Recovery.Dir, "job.lock"))
			}
			for _, lock := range locks {
				if err := os.Remove(lock); err != nil {
					t.Error(err)
				}
			}
			time.AfterFunc(100*time.Millisecond, func() {
				close(c.replaced)
				if atOnce {
					close(c.goes)
				}
			})
			err := play(ctx, f, &seat{second: true})
			if was := <-first; was == nil || !strings.Contains(was.Error(), "another process has this server's place") {
				t.Errorf("the first ends with %v", was)
			}
			return err
		}) {
			if err != nil && !(atOnce && errors.Is(err, fleet.ErrWentBack)) {
				t.Errorf("%s: %v", role, err)
			}
		}
		if c.late == 0 && !atOnce {
			t.Error("nothing reached the first when it went on: the test shows nothing")
		}
	})
}
