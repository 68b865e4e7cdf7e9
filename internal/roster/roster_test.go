package roster

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/script"
	"github.com/gofleet/gofleet/internal/wire"
)

// TestScripts plays the scripts of testdata. "server" begins one, on that server of a job of so many workers, which may be silent for
// 10 seconds and have 60 to join; "at" sets the clock, in seconds. Then each line is a message or a question, and "->" what the
// roster says: a refusal by its status.
func TestScripts(t *testing.T) {
	script.Play(t, "*.txt", func(t *testing.T, lines iter.Seq[script.Line]) {
		var p player
		for l := range lines {
			l.Check(t, p.play(t, l))
		}
	})
}

type player struct {
	*Roster
	now   time.Time
	death Death
}

func (p *player) play(t *testing.T, l script.Line) string {
	words := l.Words
	number := func(i int) int { return script.Number(t, words[i]) }
	header := func() *wire.Header { return &wire.Header{Worker: uint32(number(1)), Life: uint32(number(2))} }
	switch words[0] {
	case "server": // index, workers, in step?
		p.now = time.Unix(0, 0)
		p.Roster = New(Options{Server: number(1), Workers: number(2), Lockstep: len(words) > 3, Timeout: 10 * time.Second, Start: time.Minute, Heartbeat: time.Second, Back: 5 * time.Minute})
	case "at":
		p.now = time.Unix(int64(number(1)), 0)
	case "join": // worker, process: at server 0
		life, err := p.Lives.Number(number(1), uint64(number(2)), p.now)
		if err == nil {
			_, err = p.Begin(number(1), life, p.now)
		}
		return said(fmt.Sprintf("life %d", life), err)
	case "hello": // worker, life: at another
		began, err := p.Begin(number(1), uint32(number(2)), p.now)
		return said(map[bool]string{true: "begins", false: "again"}[began], err)
	case "from": // worker, life
		return said("ok", p.Sender(header(), p.now))
	case "stays": // worker, life
		return said("ok", p.Stays(header()))
	case "push": // worker, number, acknowledged below
		_, seen, err := p.Window(number(1)).Enter(uint64(number(2)), uint64(number(3)))
		return said(map[bool]string{true: "seen", false: "new"}[seen], err)
	case "applied": // worker, life, number
		if r, _, err := p.Window(number(1)).Enter(uint64(number(3)), 0); err == nil {
			r.Apply(0, 0, 0)
		}
		p.Applied(number(1), uint32(number(2)), uint64(number(3)))
	case "reached": // worker, number
		return yes(p.Reached(number(1), Step(p.members[number(1)].life, uint64(number(2)))))
	case "leave":
		if p.HasLeft(header()) {
			return "again"
		}
		p.Leave(number(1))
	case "ends": // worker, and whether it returns
		p.End(number(1), "tired", len(words) > 2)
	case "awake": // the server comes back
		p.Return(p.Save(), p.now)
		return yes(p.Awake(p.now))
	case "desert":
		return yes(p.Hope.Desert(p.now))
	case "fence": // worker, life
		p.Fence(number(1), uint32(number(2)), "silent")
	case "drop": // worker, life
		return yes(p.Drop(number(1), uint32(number(2)), p.members[number(1)].returns))
	case "silent":
		var who []string
		for _, d := range p.Silent(p.now) {
			who = append(who, fmt.Sprintf("%d life %d", d.Worker, d.Life))
		}
		return strings.Join(who, ", ")
	case "hurry":
		p.Hope.Hurry()
	case "heard":
		return yes(p.Heard(p.now))
	case "hopeless":
		return said("no", p.Hope.Hopeless(time.Unix(0, 0), p.now))
	case "member": // worker
		m := p.Members()[number(1)]
		return fmt.Sprintf("%s, life %d, since %d", m.State, m.Life, max(0, m.Since.Unix()))
	case "describe":
		return p.Describe([]int{number(1)}, p.now)[0]
	case "over":
		return yes(p.Hope.Over())
	case "dead":
		return strings.Trim(fmt.Sprint(p.Dead()), "[]")
	default:
		return p.dying(t, l)
	}
	return ""
}

// dying are the messages of a death.
func (p *player) dying(t *testing.T, l script.Line) string {
	switch words := l.Words; words[0] {
	case "death":
		p.death = Death{}
	case "fenced": // round, whether it has the gradient
		p.death.Fenced(round(t, words[1]), words[2] == "pushed")
	case "forget":
		return yes(p.death.Forget())
	case "dropped": // server, first round without
		p.death.Dropped(script.Number(t, words[1]), round(t, words[2]))
	case "torn": // servers
		r, with, without := p.death.Torn(script.Number(t, words[1]))
		if len(without) == 0 {
			return "no"
		}
		return fmt.Sprintf("%v in %v, not in %v", r, with, without)
	default:
		l.Unknown(t)
	}
	return ""
}

func round(t *testing.T, s string) mode.Round {
	var phase, index uint32
	if _, err := fmt.Sscanf(s, "%d.%d", &phase, &index); err != nil {
		t.Fatalf("round %q: %v", s, err)
	}
	return mode.At(phase, index)
}

func yes(b bool) string { return map[bool]string{true: "yes", false: "no"}[b] }

// said is an answer, or what is wrong.
func said(answer string, err error) string {
	var refusal *wire.Refusal
	if errors.As(err, &refusal) {
		return [...]string{"ok", "refused", "mismatch", "not ready", "stale", "failed", "back", "again", "damaged", "missing"}[refusal.Status]
	}
	return answer
}

// TestLivesAreBounded: a join that comes again is the same life, also when other processes have joined since, and however many
// come, few are remembered.
func TestLivesAreBounded(t *testing.T) {
	l, next := New(Options{Workers: 5}).Lives, uint32(0)
	join := func(worker int, process uint64) uint32 {
		life := l.of(worker, process, time.Time{})
		if life.number == 0 {
			next++
			life.number = next
		}
		return life.number
	}
	for process := range uint64(1000) {
		number := join(3, process)
		if number != uint32(process+1) || join(3, process) != number {
			t.Fatalf("process %d has life %d", process, number)
		}
		if process > 0 && join(3, process-1) != number-1 {
			t.Fatalf("a late join of process %d begins another life", process-1)
		}
	}
	if n := len(l.given[3]); n != keepLives {
		t.Errorf("%d lives are remembered, want %d", n, keepLives)
	}
	if join(4, 999) != next {
		t.Error("two workers share a life")
	}
}

// TestRefusalsNameTheCause: a worker that is refused is told what has become of it, and a process in its place what of the one before.
func TestRefusalsNameTheCause(t *testing.T) {
	start := time.Unix(0, 0)
	later := start.Add(5 * time.Second)
	for want, happens := range map[string]func(*Roster){
		"was heard 5s ago":                 func(*Roster) {},
		"has stopped":                      func(r *Roster) { r.Leave(0) },
		"has ended (tired)":                func(r *Roster) { r.End(0, "tired", false) },
		"counts as dead (silent for 31s)":  func(r *Roster) { r.Fence(0, 1, "silent for 31s") },
		"counts as dead (it was replaced)": func(r *Roster) { r.Fence(0, 1, "it was replaced"); r.Drop(0, 1, false) },
	} {
		r := New(Options{Workers: 1, Mode: "sync", Lockstep: true, Timeout: 30 * time.Second, Heartbeat: time.Second})
		if _, err := r.Begin(0, 1, start); err != nil {
			t.Fatal(err)
		}
		r.Applied(0, 1, 1)
		happens(r)
		if _, err := r.Begin(0, 2, later); err == nil || !strings.Contains(err.Error(), "worker 0 is part of this sync job and "+want) {
			t.Errorf("a process in its place: %v, want %q", err, want)
		}
		err := r.Sender(&wire.Header{Life: 1}, later)
		if dead := strings.HasPrefix(want, "counts as dead"); dead && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("the worker itself: %v, want %q", err, want)
		}
	}
}

// TestStay: behind the end of its job a server waits for the first worker as long as it takes, and for the others as at a start.
func TestStay(t *testing.T) {
	r := New(Options{Workers: 2, Timeout: time.Minute, Start: 3 * time.Minute})
	began := time.Unix(0, 0)
	r.Hope.Stay()
	day := began.Add(24 * time.Hour)
	if err := r.Hope.Hopeless(began, day); err != nil {
		t.Errorf("with no worker: %v", err)
	}
	r.members[0].state, r.members[0].seen = alive, day
	if err := errors.Join(r.Hope.Hopeless(began, day), r.Hope.Hopeless(began, day.Add(2*time.Minute))); err != nil {
		t.Errorf("when one has joined: %v", err)
	}
	if err := r.Hope.Hopeless(began, day.Add(4*time.Minute)); err == nil {
		t.Error("the other may join whenever it does")
	}
}
