package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestAServerBeginsFromServer0s: a server that has found another checkpoint than server 0, or none, begins anew from that
// one, also when it sees it only some seconds later; one that has found the same loads nothing again.
func TestAServerBeginsFromServer0s(t *testing.T) {
	for name, c := range map[string]struct {
		base  wire.Base
		late  time.Duration
		loads int
	}{
		"it has begun from nothing": {wire.Base{}, 0, 1},
		"it has found another":      {wire.Base{Name: "ckpt-000006", ID: "six"}, 0, 1},
		"it sees the list late":     {wire.Base{}, 5 * time.Second, 1},
		"it has found the same":     {wire.Base{Name: "ckpt-000007", ID: "seven"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, strategy.Async())
				dir, loads := t.TempDir(), 0
				s.recovery.series.Dir, s.recovery.base = dir, c.base
				s.following.patience, s.following.load = time.Minute, func(_ context.Context, from string) (checkpoint.Manifest, error) {
					loads++
					return checkpoint.Whole(from)
				}
				time.AfterFunc(c.late, func() { commits(t, s, filepath.Join(dir, "ckpt-000007"), "seven") })
				if c.late == 0 {
					synctest.Wait()
				}
				first := wire.Base{Name: "ckpt-000007", ID: "seven"}
				if err := s.following.follow(t.Context(), first); err != nil || loads != c.loads || s.recovery.base != first {
					t.Errorf("it begins from %+v, loaded %d times, %v", s.recovery.base, loads, err)
				}
				if c.loads > 0 && s.recovery.epochs.progress.Epoch != 3 {
					t.Errorf("it goes on from epoch %d", s.recovery.epochs.progress.Epoch)
				}
			})
		})
	}
}

// TestAServerThatEndsFollowsNoMore: one that is asked to end while it waits for server 0's checkpoint ends with that, and
// blames no directory.
func TestAServerThatEndsFollowsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, strategy.Async())
		s.recovery.series.Dir = t.TempDir()
		s.following.patience, s.following.load = time.Minute, func(context.Context, string) (checkpoint.Manifest, error) {
			return checkpoint.Manifest{}, nil
		}
		why := errors.New("it was asked to end")
		ctx, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { end(why) })
		if err := s.following.follow(ctx, wire.Base{Name: "ckpt-000007", ID: "seven"}); err != why {
			t.Errorf("it ends with %v", err)
		}
	})
}

// TestAPartThatIsGivenUpAlone: what is removed is the part of the cut that was given up, once, and not that of another.
// The log says which file was written.
func TestAPartThatIsGivenUpAlone(t *testing.T) {
	s := newServer(t, strategy.Async())
	var said bytes.Buffer
	s.saving.log = slog.New(slog.NewTextHandler(&said, nil))
	dir := t.TempDir()
	holds(t, s, 1, cut.Write, cut.Commit)
	ordered(t, s, cut.Order{Number: 1, Work: cut.Reach, Steps: none[:1], Task: cut.Task{Save: &cut.Save{Dir: dir}}})
	ordered(t, s, cut.Order{Number: 1, Work: cut.Write})
	if file := checkpoint.PartName(s.holding.fileID(1), 0, 1); !strings.Contains(said.String(), file) {
		t.Errorf("the log has %q, and %s was written", said.String(), file)
	}
	for _, c := range []struct {
		number uint64
		left   int
	}{{2, 1}, {1, 0}, {1, 0}} {
		s.st.Lock()
		s.holding.remove(c.number)
		s.st.Unlock()
		s.holding.under.Wait()
		if files, err := os.ReadDir(dir); err != nil || len(files) != c.left {
			t.Errorf("cut %d is given up, and %v are left, %v", c.number, files, err)
		}
	}
}

// TestReadsOfOtherCutsAreRefused: rows that are asked for by the name of another cut, or of none, are refused.
func TestReadsOfOtherCutsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, strategy.Async())
		newAnchor(t, s, cut.Ask{ID: "a", Task: taskOf(cut.Read)}).until(cut.Reached)
		for name, want := range map[string]uint8{"1": wire.StatusOK, "2": wire.StatusStale, "first": wire.StatusStale} {
			send(t, s, scanning(t, s, name), want)
		}
	})
}

// TestGradientsOfBeforeALoad: the log warns of gradients that are noted and were computed on other weights, and of which
// workers; where none is noted it does not.
func TestGradientsOfBeforeALoad(t *testing.T) {
	for _, waits := range []bool{true, false} {
		s := job{strategy: strategy.Sync(), workers: 2}.server(t)
		var said bytes.Buffer
		s.reloading.log = slog.New(slog.NewTextHandler(&said, nil))
		if waits {
			s.rounds.noted[1] = new(push)
		}
		s.reloading.report(new(beside))
		if warned := strings.Contains(said.String(), "workers=[1]") && strings.Contains(said.String(), "WARN"); warned != waits ||
			!waits && strings.Contains(said.String(), "WARN") {
			t.Errorf("gradients wait: %t, and the log has %q", waits, said.String())
		}
	}
}

// TestALoadBringsItsMoment: tables that become a whole checkpoint's go on at its update, with its factors on rates and
// its counts of steps, and with no factor that was to come; weights have a number that no worker has, and nothing that
// was saved or answered of the weights before serves any more. Of some params alone none of this is loaded.
func TestALoadBringsItsMoment(t *testing.T) {
	for name, params := range map[string][]string{"whole": nil, "some params": {"w"}} {
		t.Run(name, func(t *testing.T) {
			s := newKeeper(t)
			dir := t.TempDir()
			image := checkpoint.ImageOf(s.part.Store)
			part, err := checkpoint.WriteImage(t.Context(), dir, checkpoint.PartName("a", 0, 1), image)
			image.Close()
			if err != nil {
				t.Fatal(err)
			}
			at := []progress.Position{{Threads: 1, Epoch: 2, Samples: 5, Steps: 9}}
			m := checkpoint.Manifest{ID: "a", Rule: s.c.Rule.Name(), Step: 40, RateFactors: []table.Factor{{From: 30, By: 0.5}},
				Positions: [][]progress.Position{at}, Params: checkpoint.Params(s.c.Layout.Params), Parts: []checkpoint.Part{part}}
			if err := checkpoint.Commit(dir, m); err != nil {
				t.Fatal(err)
			}
			send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
			s.rounds.rates.coming = []rateRecord{{Round: 9, Factor: 0.25}}
			s.reloading.delays.on, s.reloading.delays.pulled[0] = true, []float32{1}
			before, frozen := s.part.Updates.Version(), s.st.Loads.Frozen
			n := s.reloading.readFrom(t.Context(), dir, params)
			if n.err != nil {
				t.Fatal(n.err)
			}
			what := checkpoint.Selection{Params: params}
			if n.from.Origin != n.found.Origin+": "+what.String() {
				t.Errorf("it has read %q", n.from.Origin)
			}
			s.st.Lock()
			s.reloading.put(&n)
			s.st.Unlock()
			whole := params == nil
			if step := s.part.Store.Step(); (step == 40) != whole || weight(t, s) != 0 {
				t.Errorf("tables are at update %d, the weight is %v", step, weight(t, s))
			}
			if by := s.part.Store.Factors(); (len(by) > 0 && by[len(by)-1].By == 0.5) != whole {
				t.Errorf("factors are %+v", by)
			}
			if (len(s.rounds.rates.coming) == 0) != whole || (len(s.st.Counted) == 1) != whole {
				t.Errorf("coming factors are %+v, steps %+v", s.rounds.rates.coming, s.st.Counted)
			}
			if s.part.Updates.Version() <= before || len(s.reloading.delays.pulled[0]) > 0 {
				t.Errorf("weights %d are those of before", before)
			}
			if (s.st.Loads.Frozen > frozen) != whole {
				t.Errorf("frozen values were loaded %d times", s.st.Loads.Frozen)
			}
		})
	}
}

// TestAnAnswerHasALimit: a worker that asks for more frozen values than a message may have is refused, and has as many.
func TestAnAnswerHasALimit(t *testing.T) {
	s := newKeeper(t)
	s.part.Limit = 8
	for floats, want := range map[int]uint8{2: wire.StatusOK, 3: wire.StatusRefused, 4: wire.StatusRefused} {
		b := message(t, wire.Header{Op: wire.OpBring, Life: 1}, wire.Keep{})
		b.Span(0, floats)
		send(t, s, b, want)
	}
}

// TestFrozenValuesGoToServer0: another server takes none.
func TestFrozenValuesGoToServer0(t *testing.T) {
	s := newKeeper(t)
	s.st.Leader = nil
	send(t, s, keeping(t, s, "a", 0, 1, 2), wire.StatusStale)
}

// TestALargeJournalOfServer0s has server 0 want a checkpoint itself.
func TestALargeJournalOfServer0s(t *testing.T) {
	choice := strategy.Async()
	choice.Recovery.Dir = t.TempDir()
	s := newServer(t, choice)
	if err := s.growth.ask(t.Context()); err != nil || !s.recovery.asks(0) {
		t.Errorf("a checkpoint is wanted: %t, %v", s.recovery.asks(0), err)
	}
}

// TestRoundsThatComeBack: what is said of the mode is there in every journal; without it no server goes on.
func TestRoundsThatComeBack(t *testing.T) {
	s := newServer(t, strategy.Sync())
	all := s.facts(t)
	delete(all, "mode")
	s.st.Lock()
	defer s.st.Unlock()
	if err := s.segments.memory.Resume(all); err == nil {
		t.Error("a journal that says nothing of rounds is taken")
	}
	if open := s.st.Mode.Open(); open != mode.Round(0) || !slices.Equal(s.rounds.counts, []mode.Round{0}) {
		t.Errorf("round %v is open, counts are %v", open, s.rounds.counts)
	}
}

// TestJoinTellsOfFirstWeights: workers are told where the server's role was told to begin from, and what was found there.
func TestJoinTellsOfFirstWeights(t *testing.T) {
	dir := t.TempDir()
	commits(t, newServer(t, strategy.Async()), dir, "seven")
	s := job{strategy: strategy.Async()}.empty(t)
	if err := s.Restore(t.Context(), dir, checkpoint.Selection{}); err != nil {
		t.Fatal(err)
	}
	var reply transport.Reply
	s.door.handle(bodyOf(s, message(t, wire.Header{Op: wire.OpJoin}, wire.Hello{Fingerprint: s.c.Fingerprint, Process: 5})), &reply)
	defer reply.Done()
	var f wire.Frame
	var welcome wire.Welcome
	if err := errors.Join(f.Parse(bytes.Join(reply.Parts, nil)), f.Refusal(), f.JSON(&welcome)); err != nil {
		t.Fatal(err)
	}
	if welcome.From != checkpoint.From(dir, checkpoint.Selection{}) || !strings.Contains(welcome.Origin, "seven") || !welcome.Published {
		t.Errorf("it is told %+v", welcome)
	}
}
