package server

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// readFrom gives a reader's frame to the server, and returns the answer.
func readFrom(t testing.TB, s *Server, msg wire.Read) (f wire.Frame) {
	t.Helper()
	var b wire.Builder
	b.Reset(wire.Header{Op: wire.OpRead})
	if err := b.JSON(msg); err != nil {
		t.Error(err)
	}
	var reply transport.Reply
	s.outside.handle(bytes.Join(b.Parts(), nil), &reply)
	defer reply.Done()
	if err := f.Parse(bytes.Join(reply.Parts, nil)); err != nil {
		t.Error(err)
	}
	return f
}

// TestRowsThatGoWhileTheyAreRead: a page has none of the rows that were dropped between it and its ids, and no more than 16 requests are
// under way at a time.
func TestRowsThatGoWhileTheyAreRead(t *testing.T) {
	s := newServer(t, strategy.Strategy{})
	send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
	page := wire.Read{What: wire.ReadPage, Param: 1, Rows: 10}
	answers := make(chan wire.Frame, mostReads)
	s.part.Updates.Between(func() { // so that nothing is read
		for range mostReads {
			go func() { answers <- readFrom(t, s, page) }()
		}
		for s.outside.under.Load() < mostReads {
			runtime.Gosched()
		}
		if f := readFrom(t, s, page); !errors.Is(f.Refusal(), wire.ErrBusy) {
			t.Errorf("one request more: %v", f.Refusal())
		}
		for range 1000 { // until all have their ids
			runtime.Gosched()
		}
		s.part.Store.Tick()
		if done, err := s.part.Store.Tables[0].Shrink(table.Shrink{Unseen: 1}); err != nil || done.Rows != 1 {
			t.Errorf("%d rows are dropped, %v", done.Rows, err)
		}
	})
	for range mostReads {
		f := <-answers
		if err := f.Refusal(); err != nil {
			t.Fatal(err)
		}
		for _, sec := range f.Sections {
			if ids, err := sec.IDs(nil); sec.Kind == wire.KindRows && (err != nil || len(ids) > 0) {
				t.Errorf("rows %v are there, which were dropped (%v)", ids, err)
			}
		}
	}
}

// TestALoadIsNoMomentOfAPage: while rows are read, tables don't become those of a checkpoint.
func TestALoadIsNoMomentOfAPage(t *testing.T) {
	s := newServer(t, strategy.Strategy{})
	send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
	other, err := s.part.Store.Like(func(*optimizer.Param) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Tables[0].Set([]uint64{7}, []float32{5, 5}, 0); err != nil {
		t.Fatal(err)
	}
	loaded := make(chan struct{})
	row := func() []float32 {
		w := make([]float32, 2)
		if err := s.part.Store.Tables[0].Peek([]uint64{7}, w, 1); err != nil {
			t.Error(err)
		}
		return w
	}
	s.part.Updates.Between(func() {
		go func() {
			s.st.Lock()
			defer s.st.Unlock()
			s.reloading.put(&beside{store: other})
			close(loaded)
		}()
		for range 1000 {
			if runtime.Gosched(); row()[0] != -1 {
				t.Fatal("rows are loaded while others are read")
			}
		}
	})
	<-loaded
	if got := row(); !slices.Equal(got, []float32{5, 5}) {
		t.Errorf("what was loaded is %v", got)
	}
}
