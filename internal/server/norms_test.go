package server

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// clippingServer is server 0 of three that clip.
func clippingServer(t *testing.T) *Server {
	return job{strategy: strategy.Sync(), rule: optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 1}, Norm: 1},
		endpoints: []string{"server-0:1", "server-1:1", "server-2:1"}}.server(t)
}

// sumsOf are those of a part whose params have these gradients.
func sumsOf(w, emb float32) []gradient.Squares {
	sums := make([]gradient.Squares, 2)
	sums[0].Add([]float32{w})
	sums[1].Add([]float32{emb})
	return sums
}

// tellNorms gives server 0 the sums of another and returns the sums that it answers with.
func tellNorms(t *testing.T, s *Server, from int, r mode.Round, sums []gradient.Squares) ([]gradient.Squares, error) {
	t.Helper()
	var b wire.Builder
	b.Reset(wire.Header{Op: wire.OpNorms})
	if err := b.JSON(wire.Norms{Server: from, Round: uint64(r), Sums: gradient.AppendSquares(nil, sums)}); err != nil {
		t.Fatal(err)
	}
	var reply transport.Reply
	s.door.handle(bodyOf(s, &b), &reply)
	defer reply.Done()
	var f wire.Frame
	if err := f.Parse(bytes.Join(reply.Parts, nil)); err != nil {
		t.Fatal(err)
	}
	if err := f.Refusal(); err != nil {
		return nil, err
	}
	var all wire.Norms
	if err := f.JSON(&all); err != nil {
		t.Fatal(err)
	}
	return gradient.ParseSquares(all.Sums, 2)
}

// want fails t unless the sums are these.
func want(t *testing.T, who string, got []gradient.Squares, err error, w, emb float64) {
	t.Helper()
	if err != nil || got[0].Float64() != w || got[1].Float64() != emb {
		t.Errorf("%s hears of %v, error %v, want %g and %g", who, got, err, w, emb)
	}
}

// TestNormsMeet has three servers sum the norm of a round: each hears of the same, one that asks twice counts once, and
// late as well.
func TestNormsMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clippingServer(t)
		r := mode.At(1, 7)
		var asking sync.WaitGroup
		for range 3 {
			asking.Go(func() {
				got, err := tellNorms(t, s, 1, r, sumsOf(1, 2))
				want(t, "server 1", got, err, 1+9, 4+16)
			})
		}
		asking.Go(func() {
			got, err := s.clipping.sum(r, sumsOf(3, 0))
			want(t, "server 0", got, err, 10, 20)
		})
		synctest.Wait()
		s.st.Lock()
		if lacks := s.clipping.lacking(r, s.clipping.norms.byRound[r]); lacks != "server 2 (server-2:1)" {
			t.Errorf("%s is missing", lacks)
		}
		s.st.Unlock()
		got, err := tellNorms(t, s, 2, r, sumsOf(0, 4))
		want(t, "server 2", got, err, 10, 20)
		asking.Wait()
		got, err = tellNorms(t, s, 1, r, sumsOf(1, 2))
		want(t, "server 1, again", got, err, 10, 20)
	})
}

// TestNormsSkipServersThatAreAhead: a server that never closed a round, and sends sums of a later one, is not waited for,
// and can't come back.
func TestNormsSkipServersThatAreAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clippingServer(t)
		var asking sync.WaitGroup
		asking.Go(func() {
			got, err := s.clipping.sum(3, sumsOf(3, 0))
			want(t, "server 0", got, err, 9+1, 0)
		})
		asking.Go(func() {
			got, err := tellNorms(t, s, 1, 3, sumsOf(1, 0))
			want(t, "server 1", got, err, 10, 0)
		})
		synctest.Wait()
		later := mode.Round(3).NextPhase()
		var next sync.WaitGroup
		next.Go(func() { _, _ = tellNorms(t, s, 2, later, sumsOf(5, 5)) })
		asking.Wait()
		if _, err := tellNorms(t, s, 2, 3, sumsOf(1, 1)); err == nil || !strings.Contains(err.Error(), "has gone on") {
			t.Errorf("sums of a round that is over: error %v", err)
		}
		for from := range 2 {
			next.Go(func() { _, _ = s.clipping.gather(later, from, sumsOf(0, 0)) })
		}
		next.Wait()
	})
}

// TestNormsStayFew sums those of a thousand rounds; a message of one long past is refused, and so is nonsense.
func TestNormsStayFew(t *testing.T) {
	s := clippingServer(t)
	for r := range mode.Round(1000) {
		for from := range 3 {
			s.clipping.norms.at[from] = r + 1 // as if all had gone on: nobody waits
		}
		if _, err := s.clipping.norms.of(r, 2); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.clipping.norms.byRound); n != len(s.clipping.norms.order) || n > 3+keepNorms {
		t.Errorf("%d rounds are remembered", n)
	}
	if _, err := tellNorms(t, s, 1, 5, sumsOf(1, 1)); err == nil || !strings.Contains(err.Error(), "long ago") {
		t.Errorf("round 5: error %v", err)
	}
	if _, err := tellNorms(t, s, 3, 1000, sumsOf(1, 1)); err == nil || !strings.Contains(err.Error(), "server 3") {
		t.Errorf("server 3 of three: error %v", err)
	}
	if _, err := tellNorms(t, s, 1, 1000, sumsOf(1, 1)[:1]); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("too few sums: error %v", err)
	}
	if _, err := tellNorms(t, newServer(t, strategy.Sync()), 1, 0, sumsOf(1, 1)); err == nil || !strings.Contains(err.Error(), "server 1 asked server 0 for norms, which it does not sum") {
		t.Errorf("a server that does not clip: error %v", err)
	}
}

// ownClip clips by something else than norms.
type ownClip struct{ optimizer.SGD }

func (ownClip) ClipGradients([]*optimizer.Param, []optimizer.Rows) {}

func TestServersClipByNormAlone(t *testing.T) {
	if _, err := clipOf(ownClip{}, mode.Of(strategy.ModeSync)); err == nil || !strings.Contains(err.Error(), "ownClip") {
		t.Errorf("error %v", err)
	}
	if by, err := clipOf(ownClip{}, mode.Of(strategy.ModeAsync)); err != nil || by != nil {
		t.Errorf("in async, where workers clip: %v, error %v", by, err)
	}
}
