package twin

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/strategy"
)

// Program is a job as data: what is trained, and what its lives do.
type Program struct {
	Seed    uint64
	Net     Net
	Samples int // of the data
	Legs    []Leg
	// Store has checkpoints and models lie in a store.
	Store bool `json:",omitempty"`
	// More is what the model has in a loop, which Play has not.
	More More `json:",omitzero"`
}

// Net is the model: ids' rows beside an example's numbers, a layer under tanh, a number.
type Net struct {
	Inputs, Hidden int
	Tables         []Table
	Ledger         bool    // a table with a weight for each sample
	Bad            int     `json:",omitempty"` // each so-manieth sample's label is no number, none if 0
	Drop           float32 `json:",omitempty"` // dropout behind the hidden layer
	Norm           float32 `json:",omitempty"` // what batch norm's moving averages keep in a step, none if 0
	pieces         bool    // rows with clicks travel in pieces where they can
	Beside         bool    // training fetches a lookup of other ids in the first table
}

// Table is an embedding.
type Table struct {
	Name        string
	Height, Dim int
	Slots       int // ids of an example
	Pool        []uint64
	Count       int // CountFilter
	// Chance is Probability, Score the threshold of ShowClick; Clicks feeds it with clicks.
	Chance float64 `json:",omitempty"`
	Score  float64 `json:",omitempty"`
	Clicks bool    `json:",omitempty"`
}

// Leg is one life of the job.
type Leg struct {
	End              string // the name of its end, by which what it leaves is named
	Servers, Workers int
	Threads          int `json:",omitempty"` // of a worker that trains, where the ledger alone judges
	Strategy         strategy.Strategy
	Rules            Rules
	From             From
	Calls            []Call
	Returns          []Return `json:",omitempty"` // of servers
}

// From is what a leg begins with.
type From struct {
	Dir string `json:",omitempty"` // none if empty
	// How is "restore", "init server", "server" (LoadModel before it serves) or "worker" (LoadModel while servers
	// run).
	How  string   `json:",omitempty"`
	Only []string `json:",omitempty"`
	// WeightsOnly leaves the rule's state, of "restore" alone.
	WeightsOnly bool `json:",omitempty"`
}

// Call is what every worker does next.
type Call struct {
	Do string
	At string `json:",omitempty"` // where it stood when it was drawn, by which its sights are named

	// train
	Batches [][][]int `json:",omitempty"` // samples by worker and step
	ByHand  bool      `json:",omitempty"` // step by step, and a barrier at the end
	Pace    []int     `json:",omitempty"` // by worker: milliseconds behind a step, where the order of pushes decides
	Looks   []Look    `json:",omitempty"`
	Turn    *Turn     `json:",omitempty"`

	// look, and evaluations while training
	Who     string `json:",omitempty"` // the executor: "same", "other" or "fresh"
	Samples []int  `json:",omitempty"`

	Dir    string   `json:",omitempty"` // save, load, publish
	Only   []string `json:",omitempty"` // params of save and load
	Factor float64  `json:",omitempty"` // rate
	Unseen int      `json:",omitempty"` // shrink; publish: how many periods ago rows of a base may be used last
	Decay  float64  `json:",omitempty"` // shrink, of shows and clicks
	Least  float64  `json:",omitempty"` // shrink: rows of a lower score are dropped; publish: or left out of a base
	Mode   string   `json:",omitempty"` // publish: "base" or "delta"; a whole model if empty
}

// Look is an evaluation of a worker behind a step of its epoch.
type Look struct {
	Worker, Step int
	Who          string
}

// The calls. Behind all but train and reopen there is a barrier, behind train sometimes a call of that name.
const (
	train   = "train"
	look    = "look"
	reopen  = "reopen"
	barrier = "barrier"
	save    = "save"
	load    = "load"
	rate    = "rate"
	shrink  = "shrink"
	batch   = "batch" // a checkpoint, and the end of a period
	publish = "publish"
)

// name gives every call, and every leg's end, the name of its place.
func (p *Program) name() {
	for i, l := range p.Legs {
		p.Legs[i].End = fmt.Sprintf("%d.end", i)
		for k := range l.Calls {
			l.Calls[k].At = fmt.Sprintf("%d.%d", i, k)
		}
	}
}

// known says whether it is known how many of a worker's pushes a server had a part of, and how stale they were.
func (l Leg) known() bool {
	return l.Servers == 1 && l.kind() == string(strategy.ModeSync) && !l.returns()
}

// leaves says whether a base may have less than all rows.
func (c Call) leaves() bool { return c.Do == publish && (c.Least > 0 || c.Unseen > 0) }

// model is the directory of a model that a call publishes.
func (c Call) model() string { return "model-" + c.Dir }

// pace is how long a worker rests behind a step.
func (c Call) pace(worker int) time.Duration {
	if worker < len(c.Pace) {
		return time.Duration(c.Pace[worker]) * time.Millisecond
	}
	return 0
}

// alone says whether the leg is one process.
func (l Leg) alone() bool { return l.Servers == 0 && l.Workers == 1 }

// ordered says whether the order in which pushes arrive decides what comes of a leg.
func (l Leg) ordered() bool {
	return l.Servers > 0 && l.kind() != string(strategy.ModeSync) && !l.copies()
}

// copies says whether workers train copies of the model. Those of one worker train as a process alone does; of
// several the ledger alone is judged: what each changes has to come to the servers once.
func (l Leg) copies() bool { return l.kind() == string(strategy.ModeGeo) }

// blind says whether only the ledger is judged in a leg that nothing disturbs.
func (l Leg) blind() bool { return l.copies() && l.Workers > 1 }

// agrees says whether the copies of all workers are what servers have whenever all have met.
func (l Leg) agrees() bool { return l.blind() && l.Strategy.GeoRest != strategy.GeoRestKeep }

// kind is what kind of job a leg is: "alone", "collective" or its mode.
func (l Leg) kind() string {
	switch {
	case l.alone():
		return "alone"
	case l.Servers == 0:
		return "collective"
	}
	return string(l.Strategy.WithDefaults().Mode)
}

// String is the program for a person who looks for what it has done.
func (p Program) String() string {
	legs := p.Legs
	p.Legs = nil
	text := plain(p)
	for i, l := range legs {
		calls := l.Calls
		l.Calls = nil
		text += fmt.Sprintf("\nleg %d, %s: %s", i, l.kind(), plain(l))
		for _, c := range calls {
			text += "\n  " + plain(c)
		}
	}
	return text
}

// JSON is the program as a file has it.
func (p Program) JSON() []byte { return []byte(plain(p)) }

// Parse reads a program from a file.
func Parse(data []byte) (p Program, err error) {
	err = json.Unmarshal(data, &p)
	return p, err
}

// parse reads what plain has written.
func parse(text string, v any) error { return json.Unmarshal([]byte(text), v) }

// plain is a value as JSON without what is zero.
func plain(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(data)
}
