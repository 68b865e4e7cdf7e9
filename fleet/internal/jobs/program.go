package jobs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/fleet/internal/twin"
	"github.com/gofleet/gofleet/strategy"
)

// Program is a job as data.
type Program struct {
	Model     twin.Program      `json:",omitzero"` // its net and its samples
	Rules     twin.Rules        `json:",omitzero"`
	Strategy  strategy.Strategy `json:",omitzero"`
	Epochs    int
	Tests     int           // test rows
	Rest      time.Duration // of a worker behind each step
	Every     time.Duration // between two checkpoints
	Hook      time.Duration // how long the hook of an epoch's end takes before it acts, and behind
	Deltas    int           `json:",omitempty"` // incremental checkpoints behind a full one
	Journal   bool          `json:",omitempty"` // servers have one: one that is asked to end comes back alone
	EvalEvery int           `json:",omitempty"`
	Patience  int           `json:",omitempty"` // of EarlyStopping, none if 0
	Plateau   int           `json:",omitempty"` // the evaluations after which the rate falls, none if 0
	Worse     bool          `json:",omitempty"` // from the second epoch on labels have another sign
	User      int           `json:",omitempty"` // bytes that the program keeps in checkpoints
	Period    string        `json:",omitempty"` // how an epoch ends its period: "shrink" or "batch", none if empty
	Unseen    uint32        `json:",omitempty"` // of the rows that are dropped then
	Publishes bool          `json:",omitempty"` // a base or a delta at each epoch's end
	Reloads   bool          `json:",omitempty"` // an epoch's end begins with a save that is loaded
	Sharded   bool          `json:",omitempty"`
	Days      int           `json:",omitempty"` // epochs are days of so many files; none if 0
	Stands    bool          `json:",omitempty"` // a process trains what a lost worker has left
	// Lost is what a worker's death means to the others, of lives whose workers go in step with servers.
	Lost  strategy.WorkerLost `json:",omitempty"`
	Lives []Life              `json:",omitempty"`
}

// Life is one start of all roles, until the last of them has ended.
type Life struct {
	Servers, Workers, Batch int
	Threads                 int      `json:",omitempty"`
	Epochs                  int      `json:",omitempty"` // fewer than the program's, which are 0
	Strikes                 []Strike `json:",omitempty"`
}

// asked says whether a life ends only since all roles are asked to, upon which a checkpoint is saved.
func (l Life) asked() bool {
	return !slices.ContainsFunc(l.Strikes, func(s Strike) bool { return s.Kind != "end" || s.Role != "all" })
}

// pauses says whether a role stands still in a life.
func (l Life) pauses() bool {
	return slices.ContainsFunc(l.Strikes, func(s Strike) bool { return s.Kind == "pause" })
}

// staysUp says whether some workers of a life go on until all is trained, whoever else dies: the job never goes back.
func (p Program) staysUp(l Life) bool {
	workers := map[string]bool{}
	for _, s := range l.Strikes {
		if workers[s.Role] = true; !strings.HasPrefix(s.Role, "worker") || p.inStep(l) || l.pauses() {
			return false
		}
	}
	return len(workers) < l.Workers
}

// Strike is what befalls a role, or all of them.
type Strike struct {
	// Kind is "end": asked to end, as by SIGTERM; "kill", as by kill -9; "fail": its hook returns an error; or "pause":
	// nothing comes from it or to it.
	Kind string
	Role string // "server 0", "worker 1", or "all"
	// By is the worker that comes to the place first, At the place: "step", "evaluated", "epoch ends" before the hook
	// acts, or "epoch ended" behind that.
	By   int
	At   string
	Step int // of the life's steps of that worker, or the number of its evaluation or of its epoch's end
	// Away is how long a role is away that is started again alone, or stands still; 0 means until the next life.
	Away time.Duration `json:",omitempty"`
}

// leg is a life as the twin knows it.
func (p Program) leg(l Life) twin.Leg {
	return twin.Leg{Servers: l.Servers, Workers: l.Workers, Strategy: p.Strategy}
}

// kind is what kind of job a life is: "alone", "collective" or its mode.
func (p Program) kind(l Life) string { return p.leg(l).Kind() }

// inStep says whether workers wait for each other's steps.
func (p Program) inStep(l Life) bool {
	switch p.kind(l) {
	case "alone", "collective", string(strategy.ModeSync), string(strategy.ModeSSP):
		return true
	}
	return false
}

// all says whether something is so of all lives.
func (p Program) all(is func(l Life) bool) bool {
	return !slices.ContainsFunc(p.Lives, func(l Life) bool { return !is(l) })
}

// goesOnWithout says whether the others of a life go on without a worker that dies: what that had to train is missing.
func (p Program) goesOnWithout(l Life) bool {
	return p.Lost == strategy.WorkerGoOn && l.Servers > 0 && p.inStep(l)
}

// goesBack says whether all roles of a life go back when a worker dies: what the others do next, that one has seen too.
func (p Program) goesBack(l Life) bool { return p.inStep(l) && !p.goesOnWithout(l) }

// exact says whether a job without strikes comes to the same bits: workers go in step, on the same batches in each
// life.
func (p Program) exact() bool {
	first := p.Lives[0]
	return p.Strategy.Payload == "" && !p.noisy() && p.Model.More.MaxBytes == 0 && p.all(func(l Life) bool {
		return p.goesBack(l) && p.kind(l) != string(strategy.ModeSSP) && l.Workers == first.Workers &&
			l.Batch == first.Batch && (!p.parts(l) || p.kind(l) == p.kind(first))
	})
}

// noisy says whether a rule adds noise that no two runs have alike.
func (p Program) noisy() bool { return p.Rules.By["hidden.w_0"].Kind == "dpsgd" }

// parts says whether workers without servers evaluate elsewhere than those with some: not between the steps that one
// makes when others have come to the end of their shares.
func (p Program) parts(l Life) bool { return p.EvalEvery > 0 && l.Workers > 1 }

// counted says whether the ledger counts each sample once an epoch, not weighed, by a rate that stays.
func (p Program) counted() bool {
	weighed := func(l Life) bool {
		return l.Workers > 1 && (p.kind(l) == string(strategy.ModeSync) || p.kind(l) == "collective") &&
			p.Strategy.Weighting != strategy.WeightPushes
	}
	merges := p.Strategy.GradientMerge.KSteps > 1 && !p.Strategy.GradientMerge.Sum
	if p.Unseen > 0 && !p.all(p.inStep) { // lines of a worker that is away are dropped
		return false
	}
	return p.Model.Net.Ledger && !merges && p.Plateau == 0 && p.Patience == 0 && !slices.ContainsFunc(p.Lives, weighed)
}

// anew is how many epochs may begin anew. A life with other workers or threads than the one before has other shares: it
// begins the earliest epoch anew of which a worker has samples left, which is any if a worker was lost and the others
// went on.
func (p Program) anew() (epochs int) {
	lost := false // in one of the lives before, and behind since
	for i, l := range p.Lives[1:] {
		before := p.Lives[i]
		lost = lost || !p.goesBack(before) && slices.ContainsFunc(before.Strikes, func(s Strike) bool {
			return strings.HasPrefix(s.Role, "worker") || s.Kind == "pause" // which has others take workers for dead
		})
		switch {
		case before.Workers == l.Workers && max(1, before.Threads) == max(1, l.Threads):
		case lost:
			epochs += p.Epochs
		default:
			epochs++
		}
	}
	return epochs
}

// epochs are those that a life trains to.
func (p Program) epochs(l Life) int {
	if l.Epochs > 0 {
		return l.Epochs
	}
	return p.Epochs
}

// String is the program for a person who looks for what it has done.
func (p Program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "program %d: %d samples, %s, more %s\n  strategy %s\n  rules %s\n", p.Model.Seed, p.Model.Samples,
		plain(p.Model.Net), plain(p.Model.More), plain(p.Strategy), plain(p.Rules))
	lives := p.Lives
	p.Model, p.Rules, p.Strategy, p.Lives = twin.Program{}, twin.Rules{}, strategy.Strategy{}, nil
	fmt.Fprintf(&b, "  %s\n", plain(p))
	for i, l := range lives {
		fmt.Fprintf(&b, "life %d: %d servers, %d workers, batch %d, threads %d, epochs %d\n", i, l.Servers, l.Workers,
			l.Batch, max(1, l.Threads), p.epochs(l))
		for _, s := range l.Strikes {
			fmt.Fprintf(&b, "  %s %s: at %s %d of worker %d, away %v\n", s.Kind, s.Role, s.At, s.Step, s.By, s.Away)
		}
	}
	return b.String()
}

// plain is a value as JSON.
func plain(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(data)
}
