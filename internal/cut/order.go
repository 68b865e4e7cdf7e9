package cut

import (
	"crypto/sha256"

	"github.com/gofleet/gofleet/internal/wire"
)

// Order is what server 0 asks of a server. It may come twice, and late: the answer to what was done is the same, and
// what is over is refused.
type Order struct {
	Number uint64 `json:"number"`
	Work   Work   `json:"work"`
	Plan   Plan   `json:"plan,omitempty"` // Hold
	// Steps are the last steps of each worker that the cut has (Reach).
	Steps []uint64 `json:"steps,omitempty"`
	// Whole says that a server can't write what changed since the last checkpoint alone, so that none does (Reach).
	Whole bool `json:"whole,omitempty"`
	// How says what the work is done with, and Brought what the anchor has added to it: only the servers' tables know
	// what they mean.
	How     []byte `json:"how,omitempty"`
	Brought []byte `json:"brought,omitempty"`
	// Name names End, Mark and Take, which a server does once by name.
	Name string `json:"name,omitempty"`
	// Vain has what was written removed (Free).
	Vain bool `json:"vain,omitempty"`
}

// Answer answers an order.
type Answer struct {
	Number uint64 `json:"number"`
	Work   Work   `json:"work"`
	// Stale says that this server does not hold the cut, since it was started again or server 0 was.
	Stale bool `json:"stale,omitempty"`
	// Err is why the work could not be done.
	Err string `json:"error,omitempty"`
	// Steps are the last of each worker that the server has, Step is the update that its tables are at, and Whole says
	// that it can't write what changed since the last checkpoint alone (Hold).
	Steps []uint64 `json:"steps,omitempty"`
	Step  int64    `json:"step,omitempty"`
	Whole bool     `json:"whole,omitempty"`
	// Said is what came of the work.
	Said []byte `json:"said,omitempty"`
}

// Stage is how far a cut is, as its anchor must know.
type Stage int

const (
	Queued  Stage = iota
	Held          // all servers hold: the anchor brings progress
	Reached       // all servers have the steps: the anchor reads, or goes on with its own where a part is being written
	Whole         // all is done
)

// Ask is what a worker says of its cut, again and again until the cut is whole or has failed.
type Ask struct {
	// ID names the call. One that is asked anew, since server 0 was started again, has the id that it had.
	ID     string `json:"id"`
	Worker int    `json:"worker"`
	Plan   Plan   `json:"plan,omitempty"`
	How    []byte `json:"how,omitempty"`
	// Dir is the directory that the worker names for a checkpoint, "" for one of the job's own.
	Dir string `json:"dir,omitempty"`
	// Number is the cut of which the worker Knows the stage, 0 before it was told of any.
	Number uint64 `json:"number,omitempty"`
	Knows  Stage  `json:"knows,omitempty"`
	// Brought is progress (Held), or what was made of what was read (Ends).
	Brought []byte `json:"brought,omitempty"`
	// Ends says that the worker has read all that it wanted, and GivesUp that it wants the cut no more.
	Ends    bool `json:"ends,omitempty"`
	GivesUp bool `json:"gives_up,omitempty"`
}

// past is what is remembered of it when it is over: of How, which may have what a program says of its progress, a
// checksum is enough to know a call that asks for the same.
func (a *Ask) past() Ask {
	p := *a
	sum := sha256.Sum256(a.How)
	p.How, p.Brought = sum[:], nil
	return p
}

// Told answers it.
type Told struct {
	Number uint64 `json:"number,omitempty"`
	Stage  Stage  `json:"stage,omitempty"`
	// Anew says that server 0 knows nothing of that number, since it was started again: the worker asks from the start,
	// by the same id.
	Anew bool `json:"anew,omitempty"`
	// Said is what each server said of the last work, of a cut that is whole or is to be read.
	Said [][]byte `json:"said,omitempty"`
	// Err is why there was no such cut. The worker may begin another call.
	Err error `json:"-"`
}

// News says whether there is something in it that the worker does not know.
func (t Told) News(a *Ask) bool {
	return t.Err != nil || t.Anew || t.Stage > Queued && (t.Number != a.Number || t.Stage > a.Knows)
}

// Record is what server 0 has in its journal of a cut before anything behind it is done. One field is set.
type Record struct {
	// Led is a number that no other cut of the job may have.
	Led uint64 `json:"led,omitempty"`
	// Intent is a cut whose final work is ordered from now on, and Done a call that is over.
	Intent *Intent `json:"intent,omitempty"`
	Done   *Done   `json:"done,omitempty"`
}

// Intent is what server 0 finishes, whichever process dies.
type Intent struct {
	Number uint64 `json:"number"`
	Ask    Ask    `json:"ask"`
	Step   int64  `json:"step"`
	// At are the steps of the cut.
	At      []uint64 `json:"at,omitempty"`
	Brought []byte   `json:"brought,omitempty"`
}

// Done is a call that is over. It answers the worker that asks again, and what comes late of the call begins nothing,
// also where server 0 was started again.
type Done struct {
	Number uint64   `json:"number,omitempty"`
	Ask    Ask      `json:"ask"`
	Step   int64    `json:"step"`
	At     []uint64 `json:"at,omitempty"` // the steps of the cut
	Said   [][]byte `json:"said,omitempty"`
	// Told are the workers that know of it.
	Told []int `json:"told,omitempty"`
	// Why it has failed, which its worker is told as err.
	Why string `json:"why,omitempty"`
	err error
}

// remembers is how many names followers know, and calls how many calls the leader: more than workers ask for together.
const remembers, calls = 16, 1024

func gaveUp(id, why string) error {
	return wire.Refuse(wire.StatusStale, "cut %s was given up (%s): begin again", id, why)
}
