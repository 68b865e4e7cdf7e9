package peer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

var errBusy = errors.New("busy")

func TestRepeat(t *testing.T) {
	p := Pauses{First: time.Second, Last: 3 * time.Second}
	for _, c := range []struct {
		name     string
		verdicts []Verdict
		end      time.Duration // of the context
		at       []int         // seconds at which attempts are made
	}{
		{"done", []Verdict{Done}, time.Hour, []int{0}},
		{"pauses grow", []Verdict{Pause, Pause, Pause, Pause, Done}, time.Hour, []int{0, 1, 3, 6, 9}},
		{"at once", []Verdict{Again, Again, Pause, Done}, time.Hour, []int{0, 0, 0, 3}},
		{"the context ends a pause", []Verdict{Pause, Pause, Pause, Pause}, 2 * time.Second, []int{0, 1, 2}},
		{"the context ends attempts at once", []Verdict{Again, Again}, 0, []int{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.end)
				defer cancel()
				began := time.Now()
				var at []int
				err := Repeat(ctx, p, func() (Verdict, error) {
					at = append(at, int(time.Since(began)/time.Second))
					return c.verdicts[len(at)-1], fmt.Errorf("attempt %d: %w", len(at), errBusy)
				})
				if !slices.Equal(at, c.at) {
					t.Errorf("attempts after %v s, want %v", at, c.at)
				}
				if want := fmt.Sprintf("attempt %d: busy", len(at)); err == nil || err.Error() != want {
					t.Errorf("the error is %v, want %s", err, want)
				}
			})
		})
	}
}

func TestAll(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		ready := make(chan struct{}, n)
		all := make(chan struct{})
		err := All(n, func(i int) error {
			ready <- struct{}{}
			if len(ready) == n { // all are under way at once
				close(all)
			}
			<-all
			if i > 0 {
				return fmt.Errorf("peer %d", i)
			}
			return nil
		})
		if want := "peer 1"; n == 1 && err != nil || n > 1 && (err == nil || err.Error() != want) {
			t.Errorf("%d peers: error %v, want that of the first that failed, %s", n, err, want)
		}
	}
}

func TestOnce(t *testing.T) {
	frame := func(h wire.Header, text string) (b wire.Builder) {
		b.Reset(h)
		b.Blob([]byte(text))
		return b
	}
	net := transport.NewMemory()
	l, err := net.Listen("server:1")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() {
		served <- l.Serve(func(req []byte, reply *transport.Reply) {
			var f wire.Frame
			if err := f.Parse(req); err != nil {
				t.Error(err)
			}
			answer := frame(wire.Header{Op: f.Op, Status: uint8(f.Seq)}, "no room")
			reply.Parts = answer.Parts()
		})
	}()
	defer func() { _ = l.Close(context.Background()); <-served }()
	for status, want := range []string{0: "", wire.StatusRefused: "no room"} {
		req := frame(wire.Header{Op: wire.OpStep, Seq: uint64(status)}, "")
		read := false
		answered, err := Once(t.Context(), net, "server:1", nil, req.Parts(), func(*wire.Frame) error { read = true; return nil })
		if !answered || (err == nil) != (want == "") || read != (want == "") {
			t.Errorf("status %d: answered %t, read %t, error %v", status, answered, read, err)
		}
	}
	if answered, err := Once(t.Context(), net, "nobody:1", nil, nil, nil); answered || err == nil {
		t.Errorf("nobody there: answered %t, error %v", answered, err)
	}
}
