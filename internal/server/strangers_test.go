package server

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// message is a frame of a sender that carries a control message.
func message(t *testing.T, h wire.Header, msg any) *wire.Builder {
	t.Helper()
	b := new(wire.Builder)
	b.Reset(h)
	if err := b.JSON(msg); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOnlyServersOrderDeaths: who knows the fingerprint, or is a worker, can take no worker out of the job, be it in it
// or not come yet, gives no server another's sums, and leads no cut.
func TestOnlyServersOrderDeaths(t *testing.T) {
	s := job{strategy: strategy.Sync(), workers: 2}.server(t)
	g := s.st.Generation()
	for who, proof := range map[string]uint64{"the fingerprint": g.Fingerprint, "worker 0": g.Life(0, 1), "nobody": 0x1234} {
		for _, op := range []wire.Op{wire.OpFence, wire.OpDrop, wire.OpNorms, wire.OpOrder} {
			for worker := range 2 {
				t.Run(op.String()+" by "+who, func(t *testing.T) {
					h := wire.Header{Op: op, Job: proof, Life: 1}
					send(t, s, message(t, h, wire.Leave{Worker: worker, Life: uint32(1 - worker)}), wire.StatusRefused)
				})
			}
		}
	}
	send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: 5, Fingerprint: s.c.Fingerprint}), wire.StatusOK)
	beat := new(wire.Builder)
	beat.Reset(wire.Header{Op: wire.OpHeartbeat, Life: 1})
	send(t, s, beat, wire.StatusOK)
}

// TestALifeProvesItself: no life of a worker speaks for another, nor does a process of an earlier generation.
//
// Promise: [G8] a process of an earlier run, a life that speaks for another, and a worker that speaks as a server are
// refused
// Also: TestOnlyServersOrderDeaths, TestOnlyServer0OrdersCuts
func TestALifeProvesItself(t *testing.T) {
	s := job{strategy: strategy.Async(), workers: 2}.server(t)
	send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: 5, Fingerprint: s.c.Fingerprint}), wire.StatusOK)
	g := s.st.Generation()
	before := *g
	before.Key++
	for who, h := range map[string]wire.Header{
		"worker 1 as worker 0":  {Job: g.Life(1, 1), Life: 1},
		"life 1 as life 2":      {Job: g.Life(0, 1), Life: 2},
		"a worker from before":  {Job: before.Life(0, 1), Life: 1},
		"the fingerprint alone": {Job: g.Fingerprint, Life: 1},
	} {
		for _, op := range []wire.Op{wire.OpLeave, wire.OpCut, wire.OpServe, wire.OpKeep, wire.OpStep} {
			t.Run(op.String()+" by "+who, func(t *testing.T) {
				h := h
				h.Op = op
				send(t, s, message(t, h, cut.Ask{ID: "a", Task: cut.Task{Save: &cut.Save{Dir: t.TempDir()}}}), wire.StatusBack)
			})
		}
	}
	hello := message(t, wire.Header{Op: wire.OpHello, Job: g.Fingerprint, Life: 9}, wire.Hello{Process: 9, Fingerprint: s.c.Fingerprint})
	send(t, s, hello, wire.StatusNotReady)
	send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
}

// TestOnlyServer0OrdersCuts: whoever is none of the job's servers can't have this one hold pushes, end a period, write or
// let pushes go on.
func TestOnlyServer0OrdersCuts(t *testing.T) {
	s := newServer(t, strategy.Async())
	g := s.st.Generation()
	order := func(job uint64, o cut.Order) *wire.Builder {
		return message(t, wire.Header{Op: wire.OpOrder, Job: job, Life: 1}, o)
	}
	hold := cut.Order{Number: 1, Work: cut.Hold, Task: taskOf(cut.End)}
	end := cut.Order{Number: 1, Work: cut.End, Name: "end-1", Task: taskOf(cut.End)}
	free := cut.Order{Number: 1, Work: cut.Free}
	for who, proof := range map[string]uint64{"the fingerprint": g.Fingerprint, "worker 0": g.Life(0, 1), "nobody": 0x1234} {
		for _, o := range []cut.Order{hold, end, free} {
			t.Run(fmt.Sprintf("%s by %s", o.Work, who), func(t *testing.T) { send(t, s, order(proof, o), wire.StatusRefused) })
		}
	}
	if s.st.Follower.Number() != 0 || s.part.Store.Tables[0].Clock() != 0 {
		t.Error("a stranger's order was done")
	}
	send(t, s, order(g.Servers(), hold), wire.StatusOK)
	for who, proof := range map[string]uint64{"the fingerprint": g.Fingerprint, "worker 0": g.Life(0, 1)} {
		t.Run("free by "+who, func(t *testing.T) { send(t, s, order(proof, free), wire.StatusRefused) })
	}
	if s.st.Follower.Number() != 1 {
		t.Error("a stranger has let pushes go on")
	}
}

// TestServersNameFiles: whatever a worker calls its save, the files of the checkpoint have names that servers give them.
//
// Promise: [G8] a save that names other files than its own is refused
func TestServersNameFiles(t *testing.T) {
	s := newServer(t, strategy.Async())
	dir := filepath.Join(t.TempDir(), "a", "b")
	other := filepath.Join(dir, "part-theirs-000-of-001.safetensors")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(other, []byte("theirs"), 0o644), os.Chtimes(other, time.Now(), time.Now())); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"x/../../../evil", "..", "a.b", "a b", "a\x00", "ä", string(make([]byte, 65))} {
		newAnchor(t, s, cut.Ask{ID: id, Task: cut.Task{Save: &cut.Save{Dir: dir}}}).whole()
		s.st.Leader.Loaded() // so that the next is another
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	part := checkpoint.PartName(cut.FileID(s.st.Generation().Number, 7), 0, 1)
	if err != nil || !slices.Contains(files, filepath.Join(dir, part)) {
		t.Errorf("%q are there, error %v; want %s", files, err, part)
	}
	if up, err := filepath.Glob(filepath.Join(dir, "..", "*")); err != nil || len(up) != 1 {
		t.Errorf("beside the directory are %q, error %v", up, err)
	}
}

// TestAStrangerIsToldFewLines steps through the fingerprint as refusals tell it, and is told a few lines of it.
//
// Promise: [G12] a refusal tells a stranger a few lines of what a job is, and not all that it would need to join
func TestAStrangerIsToldFewLines(t *testing.T) {
	s := job{strategy: strategy.Sync(), workers: 2}.server(t)
	told := map[string]bool{}
	for i := range s.c.Fingerprint {
		guess := slices.Clone(s.c.Fingerprint)
		guess[i] = "?\t?"
		var reply transport.Reply
		hello := message(t, wire.Header{Op: wire.OpHello, Worker: 1}, wire.Hello{Process: 9, Fingerprint: guess})
		s.door.handle(bodyOf(s, hello), &reply)
		key, value, _ := strings.Cut(s.c.Fingerprint[i], "\t")
		if strings.Contains(string(bytes.Join(reply.Parts, nil)), key+" "+value) {
			told[key] = true
		}
	}
	if len(told) == 0 || len(told) > mostTold || len(s.c.Fingerprint) < 2*mostTold {
		t.Errorf("a stranger was told %d lines of %d: %v", len(told), len(s.c.Fingerprint), told)
	}
}

// TestAnotherBuildIsNamed: a process that builds another job, perhaps since its build knows more of a rule, is told of
// both builds where they differ.
func TestAnotherBuildIsNamed(t *testing.T) {
	s := job{strategy: strategy.Sync(), workers: 2}.server(t)
	other := slices.Clone(s.c.Fingerprint)
	other[0] += " {Later:1}"
	both := fmt.Sprintf(`; worker 1 has gofleet "v9.8.7", server 0 %q: upgrade the earlier`, wire.Build())
	for build, want := range map[string]string{"v9.8.7": both, wire.Build(): "", "": ""} {
		hello := message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: 9, Fingerprint: other, Build: build})
		var reply transport.Reply
		s.door.handle(bodyOf(s, hello), &reply)
		said := string(bytes.Join(reply.Parts, nil))
		if !strings.Contains(said, "Later:1") || strings.Contains(said, "has gofleet") != (want != "") || !strings.Contains(said, want) {
			t.Errorf("build %q is told %q, want %q", build, said, want)
		}
		reply.Done()
	}
}

// TestFlippedBits repeats each frame of a session with every bit of its header, of its sections' heads and of its end
// turned over: whatever that frame is answered, the session goes on as one that nobody disturbs. No bit of header or
// heads is answered with anything but a refusal.
//
// Promise: [G12] what a frame acknowledges counts when the frame does
// Also: TestNoStepAcknowledgesItsLike (internal/roster), TestWindowForgets (internal/roster)
func TestFlippedBits(t *testing.T) {
	law.Slow(t)
	for _, mode := range strategy.Modes() {
		for _, sealed := range []bool{false, true} {
			if !sealed || mode == strategy.ModeSync { // in other modes another number is another push
				t.Run(fmt.Sprintf("%s, sealed %t", mode, sealed), func(t *testing.T) { flipBits(t, mode, sealed) })
			}
		}
	}
}

// flipBits does that, and with sealed makes the checksums of what it has damaged right.
func flipBits(t *testing.T, mode strategy.Mode, sealed bool) {
	quick := strategy.Strategy{Mode: mode, WaitTimeout: strategy.Duration(100 * time.Microsecond)} // for rounds that never come
	s, twin := newServer(t, quick), newServer(t, quick)
	for _, b := range session(s) {
		send(t, twin, b, wire.StatusOK)
		send(t, s, b, wire.StatusOK)
		body := bodyOf(s, b)
		for i := range body {
			if i >= 80 && i < len(body)-24 {
				continue
			}
			for bit := range 8 {
				flipped := bytes.Clone(body)
				flipped[i] ^= 1 << bit
				if sealed {
					wire.Seal(flipped)
				}
				var reply transport.Reply
				var answer wire.Frame
				s.door.handle(flipped, &reply)
				if err := answer.Parse(bytes.Join(reply.Parts, nil)); err != nil || i < 80 && !sealed && answer.Status == wire.StatusOK {
					t.Fatalf("bit %d of byte %d turned over: status %d, error %v", bit, i, answer.Status, err)
				}
				reply.Done()
			}
		}
	}
	var got, want [4]float32
	if err := errors.Join(s.part.Store.Blocks[0].Values.Pull(got[:]), twin.part.Store.Blocks[0].Values.Pull(want[:])); err != nil {
		t.Fatal(err)
	}
	if got != want || want[0] == 0 || s.part.Store.Step() != twin.part.Store.Step() {
		t.Errorf("weights %v at update %d, undisturbed %v at %d", got, s.part.Store.Step(), want, twin.part.Store.Step())
	}
	if s.st.Failure != nil || len(s.st.Roster.Dead()) > 0 {
		t.Errorf("the job failed: %v, dead %v", s.st.Failure, s.st.Roster.Dead())
	}
}

// session is what worker 0 sends of three epochs of three steps, and each is answered at once.
func session(s *Server) (all []*wire.Builder) {
	seq, h := uint64(0), wire.Header{Life: 1, Version: wire.NoDense}
	for epoch := range uint64(3) {
		for step := range uint64(3) {
			seq++
			h.Seq, h.Acked, h.Round = seq, max(seq, 2)-1, epoch<<32|step
			push := pushOf(s, h)
			beat := new(wire.Builder)
			beat.Reset(wire.Header{Op: wire.OpHeartbeat, Life: 1})
			all = append(all, push, beat)
		}
		seq++
		park := new(wire.Builder)
		park.Reset(wire.Header{Op: wire.OpPark, Life: 1, Seq: seq, Acked: seq, Round: epoch<<32 | 3})
		all = append(all, park)
	}
	return all
}
