package server

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestEpochsAreLed: workers say where they are, wait for each other, and are told what to do, by a server that is
// started again too. One that has died is waited for until another trains what it has left, and one that stops is not.
func TestEpochsAreLed(t *testing.T) {
	choice := strategy.Strategy{Mode: strategy.ModeAsync, WaitTimeout: strategy.Duration(100 * time.Microsecond)} // for answers that don't come
	choice.Recovery = strategy.Recovery{Dir: t.TempDir(), Journal: strategy.JournalProcess, JournalDir: t.TempDir()}
	j := job{strategy: choice, workers: 3}
	s, _ := j.journaled(t)
	now := time.Now()
	d := &drawn{Server: s, t: t, r: rand.New(rand.NewPCG(1, 1)), workers: make([]drawnWorker, 3)}
	clocks := func() { d.st.Clock = awake.NewClock(24*time.Hour, func() time.Time { return now }) }
	clocks()
	var members []*epoch.Member
	for w := range 3 {
		if w == 0 {
			d.workers[0] = drawnWorker{life: 1, lives: true}
		} else {
			send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: uint32(w)}, wire.Hello{Process: uint64(w), Fingerprint: s.c.Fingerprint}),
				wire.StatusOK)
			d.workers[w] = drawnWorker{life: 1, lives: true}
		}
		members = append(members, epoch.NewMember(epoch.At{Worker: w, Life: 1}, 0))
	}
	asks := func(w int, want string) {
		t.Helper()
		got, led, told := "waits", wire.Led{}, new(epoch.Told)
		text, err := json.Marshal(members[w].At())
		if err != nil {
			t.Fatal(err)
		}
		f := d.ask(w, wire.OpEpoch, wire.Ask{N: members[w].At().N, Text: text, Most: 1 << 20})
		switch {
		case f.Status != wire.StatusOK && f.Status != wire.StatusFailed:
			got = "refused"
		case f.Status == wire.StatusOK && f.JSON(&led) == nil && json.Unmarshal(led.Text, told) == nil && !members[w].Told(told):
			got = "asks again"
		case f.Status == wire.StatusOK:
			got = string(told.Do)
			if told.Do == epoch.Measure {
				got += fmt.Sprintf(" %d of %d", told.Share, told.Of)
			}
		}
		if got != want {
			t.Fatalf("worker %d at %+v: %s, want %s; %v", w, members[w].At(), got, want, f.Refusal())
		}
	}
	asks(0, "waits")
	asks(1, "waits")
	asks(2, "begin")
	asks(0, "begin")
	asks(1, "begin")
	for _, m := range members {
		m.Begun(1, true, false)
	}
	asks(2, "train")
	asks(0, "train")
	asks(1, "train")
	members[0].Ended(nil)
	members[1].Ended(nil)
	asks(0, "waits")
	asks(1, "waits")
	d.drop(2)
	asks(2, "refused")
	asks(0, "waits") // for worker 2
	pause := s.led.pause
	s.led.pause = 0
	asks(0, "asks again")
	s.led.pause = pause
	now = now.Add(s.led.patience)
	asks(0, "rest")
	members[0].Did(nil)
	asks(0, "measure 0 of 2")

	s.Release() // another process takes its place, and all say again where they are
	s, returned := j.journaled(t)
	if !returned {
		t.Fatal("it has not returned")
	}
	d.Server = s
	clocks()
	asks(1, "waits")
	members[0].Did([]byte("share"))
	asks(0, "waits") // for worker 2, which may have been started again too
	if s.led.leader.Waits() {
		t.Error("a process that has just come back takes the dead of the one before for lost")
	}
	now = now.Add(s.led.notice)
	asks(0, "waits") // for worker 2, which has not come
	if !s.led.leader.Waits() {
		t.Error("the dead are never lost")
	}
	now = now.Add(s.led.patience)
	asks(1, "waits")
	asks(0, "rest")
	members[0].Did(nil)
	asks(0, "measure 0 of 2")
	asks(1, "measure 1 of 2")
	members[0].Did([]byte("a"))
	asks(0, "waits")
	stops := new(wire.Builder)
	stops.Reset(d.header(0, wire.OpLeave))
	if f := d.answer(stops); f.Status != wire.StatusOK {
		t.Fatal(f.Refusal())
	}
	members[1].Did([]byte("b"))
	asks(1, "act")
	members[1].Did(nil)
	asks(1, "act") // again: worker 0 was to lead it
	members[1].Did(nil)
	asks(1, "end")
	members[1].Did(nil)
	asks(1, "over")
}
