package cut

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
)

// Order is an order of server 0 to a server. It may come twice, and late: the answer is the same if it was carried out,
// and Stale if its cut is over.
type Order struct {
	Number uint64 `json:"number"`
	Work   Work   `json:"work"`
	Task   Task   `json:"task,omitzero"`
	// Steps holds, by worker, the last request that the cut lets in (Reach).
	Steps []uint64 `json:"steps,omitempty"`
	// Name identifies an End, Mark or Take, which a server does once by name.
	Name string `json:"name,omitempty"`
	// Vain says that the written part is to be removed (Free).
	Vain bool `json:"vain,omitempty"`
}

// Answer is a server's answer to an order.
type Answer struct {
	Number uint64 `json:"number"`
	Work   Work   `json:"work"`
	// Stale says that this server does not hold the cut, since it or server 0 was restarted.
	Stale bool `json:"stale,omitempty"`
	// Err is why the work could not be done.
	Err string `json:"error,omitempty"`
	// Steps holds, by worker, the last step in the server's tables, by which cuts of one moment are recognized. In has
	// parks too, which change no table: a phase that is over here must end on the others. Step is the number of the
	// tables' last update. Whole says that it can't write only its changes since the last checkpoint (Hold).
	Steps []uint64 `json:"steps,omitempty"`
	In    []uint64 `json:"in,omitempty"`
	Step  int64    `json:"step,omitempty"`
	Whole bool     `json:"whole,omitempty"`
	// Said is the result of the work.
	Said []byte `json:"said,omitempty"`
}

// Stage is the state of a cut, as its anchor sees it.
type Stage int

const (
	Queued  Stage = iota
	Held          // all servers hold: the anchor sends progress
	Reached       // all servers have the steps: the anchor reads or, while parts are written, goes on with steps
	Whole         // all works are done
)

// Ask is a worker's request about its cut, repeated until the cut is complete or has failed.
type Ask struct {
	// ID identifies the call. A call that begins again because server 0 was restarted keeps its id.
	ID     string `json:"id"`
	Worker int    `json:"worker"`
	// Task has, from Held on, also what the worker and server 0 have added. Sum, which the leader sets, is the checksum
	// of the task as it was asked for: another call with it asks for the same.
	Task Task   `json:"task,omitzero"`
	Sum  []byte `json:"sum,omitempty"`
	// Begun are the epochs that workers had begun at the first request, in any form: a checkpoint of before lacks those
	// that were begun since.
	Begun []byte `json:"begun,omitempty"`
	// Deed is what the cut does once by its name, nil if it has none; its result may come with Ends.
	Deed *progress.Deed `json:"deed,omitempty"`
	// Early asks for what takes long before a cut, while pushes go on: the worker has not asked for the cut yet.
	Early bool `json:"early,omitempty"`
	// Number is the cut whose stage the worker Knows; 0 before the first answer with a number.
	Number uint64 `json:"number,omitempty"`
	Knows  Stage  `json:"knows,omitempty"`
	// Ends says that the worker has read all that it wants. GivesUp says that it gives up the cut.
	Ends    bool `json:"ends,omitempty"`
	GivesUp bool `json:"gives_up,omitempty"`
}

// accepted returns a new call with its checksum.
func (a *Ask) accepted() *Ask {
	first := *a
	text, _ := json.Marshal(a.Task) // strings and numbers always encode
	sum := sha256.Sum256(text)
	first.Sum = sum[:]
	return &first
}

// past returns what is remembered of a call that is over. A program's progress may be large, and goes.
func (a *Ask) past() Ask {
	p := *a
	if s := p.Task.Save; s != nil && s.Progress != nil {
		p.Task.Save = new(Save)
	}
	return p
}

// Told is the answer to an Ask.
type Told struct {
	Number uint64 `json:"number,omitempty"`
	Stage  Stage  `json:"stage,omitempty"`
	// Ready answers Early: all is there.
	Ready bool `json:"ready,omitempty"`
	// Anew says that server 0 was restarted and does not have that number: the worker begins again, by the same id.
	Anew bool `json:"anew,omitempty"`
	// Said holds each server's answer to the last work, of a cut that is complete or is to be read.
	Said [][]byte `json:"said,omitempty"`
	// Before says that what has a name was done before this call, with that result.
	Before bool `json:"before,omitempty"`
	// Err is why the cut failed. The worker may begin another call.
	Err error `json:"-"`
}

// News reports whether the answer has something that the worker does not know.
func (t Told) News(a *Ask) bool {
	return t.Err != nil || t.Anew || t.Stage > Queued && (t.Number != a.Number || t.Stage > a.Knows)
}

// Record is what server 0's journal records of a cut before anything that follows from it is done. One field is set.
type Record struct {
	// Led is the number of a cut, which no later cut of the job may have.
	Led uint64 `json:"led,omitempty"`
	// Intent is a cut whose final work is about to be ordered: server 0 completes it, whichever process dies. Done is a
	// call that is over.
	Intent *Done `json:"intent,omitempty"`
	Done   *Done `json:"done,omitempty"`
	// Deeds are all that was done by name; they replace those known before.
	Deeds progress.Deeds `json:"deeds,omitempty"`
}

// Done is a call that is over. It answers a worker that asks again. A late message of the call begins nothing, even if
// server 0 was restarted.
type Done struct {
	Number uint64   `json:"number,omitempty"`
	Ask    Ask      `json:"ask"`
	Step   int64    `json:"step"`
	At     []uint64 `json:"at,omitempty"` // the steps of the cut
	Said   [][]byte `json:"said,omitempty"`
	// Before says that it was done by an earlier call of its name.
	Before bool `json:"before,omitempty"`
	// Told lists the workers that have the result.
	Told []int `json:"told,omitempty"`
	// Why says why the call has failed; its worker gets it as err.
	Why string `json:"why,omitempty"`
	err error
}

// remembers is how many final works followers remember, and calls how many calls the leader: more than workers make at
// once.
const remembers, calls = 16, 1024

func gaveUp(id, why string) error {
	return wire.Refuse(wire.StatusStale, "cut %s was given up (%s): begin again", id, why)
}
