package wire

import (
	"encoding/json"
	"fmt"

	"github.com/gofleet/gofleet/internal/progress"
)

// Hello is the blob of OpHello and OpJoin.
type Hello struct {
	// Process tells a repeated join of the same process from a new process in its place.
	Process     uint64   `json:"process"`
	Fingerprint []string `json:"fingerprint"`
	Build       string   `json:"build,omitempty"` // of gofleet, for who is refused
}

// Welcome answers them.
type Welcome struct {
	// Life is the life that begins (OpJoin), and Job what its frames carry from now on: a secret of the two.
	Life uint32 `json:"epoch,omitempty"`
	Job  uint64 `json:"job,omitempty"`
	// Round is the open round, where a worker that joins late begins.
	Round uint64 `json:"round"`
	// Published says that the dense weights are there already.
	Published bool `json:"published"`
	// From is the directory that the server was told to begin from, and what of it; empty for none. Origin says which
	// checkpoint or model it found there.
	From   string `json:"from,omitempty"`
	Origin string `json:"origin,omitempty"`
	// Progress is that of the checkpoint from which a job that was started again goes on.
	Progress Progress `json:"progress,omitzero"`
	// Positions are how far the worker's threads are in their data with what this server has of its lives before, or of
	// that checkpoint.
	Positions []progress.Position `json:"positions,omitempty"`
	// Shares is how many workers the checkpoint is of, on server 0, where the job has another number of them: positions
	// don't count then.
	Shares int `json:"shares,omitempty"`
	// Steps is the most training steps that a thread has made in that checkpoint.
	Steps uint64 `json:"steps,omitempty"`
	// Gathers is how many collectives the worker need not make, on server 0: its lives before made them, or the others
	// did without it.
	Gathers uint64 `json:"gathers,omitempty"`
	// Loads are how often server 0 had loaded when the life began: these are nothing new to it.
	Loads Loads `json:"loads,omitzero"`
}

// Progress is how far a job is, as its program says.
type Progress struct {
	Epoch int    `json:"epoch,omitempty"`
	User  []byte `json:"user,omitempty"`
}

// IsZero says whether nothing is said.
func (p Progress) IsZero() bool { return p.Epoch == 0 && p.User == nil }

// Saver is the blob of OpSaver; with Last its worker stops when it has saved, and is counted out. Yours answers it.
// With Ends the worker was asked to end, as others may have been: Yours then says that no lower one has ended so. Late
// says that others save for it, since they know more of the job, and Wait that it is to ask again, until these have
// ended.
type Saver struct {
	Last  bool `json:"last,omitempty"`
	Ends  bool `json:"ends,omitempty"`
	Yours bool `json:"yours,omitempty"`
	Late  bool `json:"late,omitempty"`
	Wait  bool `json:"wait,omitempty"`
}

// Barrier is the call of a collective whose answer says enough by coming: what workers bring to it, the statistics that
// they compute apart, is not that of others once they train on.
const Barrier = "BarrierWorker"

// Gather is the blob of OpGather: a worker's part of its n-th collective.
type Gather struct {
	N uint64 `json:"n"`
	// Call says all that must be the same on every worker: "AllReduce (sum of 3 values)".
	Call string `json:"call"`
	Data []byte `json:"data"`
	// More says that the part goes on in the next collective.
	More bool `json:"more,omitempty"`
}

// Gathered answers it: what each worker sent, nothing for one that is gone.
type Gathered struct {
	Data [][]byte `json:"data"`
	// Loads are for workers that have not seen the last of them, and bring their weights anew.
	Loads Loads `json:"loads,omitzero"`
	// More are the workers whose parts go on in the next collective.
	More []int `json:"more,omitempty"`
	// Left are the lives, by worker, that have stopped as they should; 0 for others.
	Left []uint32 `json:"left,omitempty"`
}

// Leave is the blob of OpLeave, OpFence and OpDrop.
type Leave struct {
	Worker int    `json:"worker"`
	Life   uint32 `json:"epoch"`
	// Why it is dead (OpFence).
	Why string `json:"why,omitempty"`
	// Returns says that the worker is expected to be started again (OpDrop).
	Returns bool `json:"returns,omitempty"`
	// Forget drops what the worker pushed for the open round (OpDrop).
	Forget bool `json:"forget,omitempty"`
	// Rate is the factor on learning rates that counts from RateRound on, if one was set: the worker that died may have
	// told some servers of it, server 0 first (OpDrop).
	Rate      float64 `json:"rate,omitempty"`
	RateRound uint64  `json:"rate_round,omitempty"`
}

// Ending is the blob of an OpLeave that comes before the work is done: the worker ends, and Why says what for. Back is
// what a server has told it if all roles are to go back, which that server may not have told the others yet.
type Ending struct {
	Why  string `json:"why"`
	Back string `json:"back,omitempty"`
	// Returns says that the worker was asked to end, or was killed: it is expected to be started again.
	Returns bool `json:"returns,omitempty"`
}

// Report is the blob of OpReport, by which servers know each other: Server is the number of the one that process is,
// which sends it to server 0, or which server 0 asks whether it is the same still. It shows its fingerprint when it
// begins.
type Report struct {
	Server      int      `json:"server"`
	Process     uint64   `json:"process"`
	Fingerprint []string `json:"fingerprint,omitempty"`
	Build       string   `json:"build,omitempty"` // of gofleet, beside the fingerprint
	// Ends says that the sender ends, with the Status and the reason that a request would be refused with if the job
	// can't go on.
	Ends   bool   `json:"ends,omitempty"`
	Status uint8  `json:"status,omitempty"`
	Why    string `json:"why,omitempty"`
	// Left are the lives, by worker, that have said to the sender that they stop; 0 for others. A worker that is killed
	// between its goodbyes has said so to some servers alone.
	Left []uint32 `json:"left,omitempty"`
	// Stops says that the sender is about to end and wants a checkpoint saved before.
	Stops bool `json:"stops,omitempty"`
	// Grown says that the sender's journal has become large, and wants a checkpoint saved.
	Grown bool `json:"grown,omitempty"`
	// Cuts is what server 0 says of the cuts that it leads: the highest number, and the one under way, 0 for none.
	Cuts [2]uint64 `json:"cuts,omitzero"`
	// Show asks the server for a report for server 0's page.
	Show bool `json:"show,omitempty"`
}

// Reported answers it: the generation that the server is one of now.
type Reported struct {
	Generation uint64 `json:"generation,omitempty"`
	Key        uint64 `json:"key,omitempty"`
	// From is what server 0 has begun from, where it gives the key.
	From Base `json:"from,omitzero"`
	// Whole is how many checkpoints were wanted by servers that stop and have been saved, which server 0 knows.
	Whole int `json:"whole,omitempty"`
	// Told is the server's report for the page, if it was asked for.
	Told json.RawMessage `json:"told,omitempty"`
}

// Base is a checkpoint of the job's own, from which it goes on; the zero value is none.
type Base struct {
	Name string `json:"name"` // of its directory below Strategy.Recovery's
	ID   string `json:"id"`
}

func (b Base) String() string {
	if b.ID == "" {
		return "no checkpoint of the job's own"
	}
	return fmt.Sprintf("checkpoint %s (%s)", b.Name, b.ID)
}

// Beat answers a heartbeat where there is something to say.
type Beat struct {
	// Save asks the worker to save a checkpoint at once: a server is about to end.
	Save bool `json:"save"`
	// Waits says what a request waits for that this server has not answered for long: the oldest of all.
	Waits string `json:"waits,omitempty"`
	// Computes says that a worker which such a request waits for lives, and waits for no other itself.
	Computes bool `json:"computes,omitempty"`
	// Show asks the worker for a report with its next heartbeat, as a blob of JSON.
	Show Show `json:"show,omitempty"`
}

// Show is what a role's report for server 0's page has.
type Show int

// ShowAll is a report with curves.
const (
	ShowNothing Show = iota
	ShowStats
	ShowAll
)

// Fenced answers OpFence.
type Fenced struct {
	// Published says that the server has its first weights.
	Published bool   `json:"published,omitempty"`
	Round     uint64 `json:"round"`
	Pushed    bool   `json:"pushed"` // the open round holds a gradient of the worker
}

// Dropped answers OpDrop.
type Dropped struct {
	// Counts is the first round that has no gradient of the worker, and will have none.
	Counts uint64 `json:"counts"`
}

// Norms is the blob of OpNorms and its answer.
type Norms struct {
	Server int    `json:"server"`
	Round  uint64 `json:"round"`
	// Sums are exact sums of squares, by param: the server's own, and in the answer all servers'.
	Sums []byte `json:"sums"`
}

// Keep is the blob of OpKeep, with a span of the frozen values and their floats.
type Keep struct {
	ID string `json:"id"` // of the call whose cut all servers hold
}

// Cutting says what the work of a cut is done with, as its worker asks for it (OpCut): what it drops at the end of a
// period, and
type Cutting struct {
	Shrink
	// Met is how many collectives the worker has behind it that ends a period: calls on two sides of one end two.
	Met uint64 `json:"met,omitempty"`
	// Params are the names of params that are written, or loaded; none means all.
	Params []string `json:"params,omitempty"`
	// Progress is for one of the job's own checkpoints, as it is when the worker asks.
	Progress *Progress `json:"progress,omitempty"`
	// Load is the directory that is loaded, for a call of that worker.
	Load   string `json:"load,omitempty"`
	Worker int    `json:"worker,omitempty"`
	// Serving says which rows a model for serving takes.
	Serving *Serving `json:"serving,omitempty"`
}

// Placed is what server 0 adds when all servers hold a cut for a checkpoint (OpOrder).
type Placed struct {
	Dir string `json:"dir"`
	// Base is the id of the checkpoint that this one is based on, empty for none.
	Base     string    `json:"base,omitempty"`
	Progress *Progress `json:"progress,omitempty"` // of the worker when all servers hold
}

// Loads are what a worker has to know of checkpoints that were loaded into servers that run.
type Loads struct {
	// Frozen is how often they had frozen values.
	Frozen int64 `json:"frozen,omitempty"`
	// Whole is how often they were whole where workers train copies, which go on behind so many Updates.
	Whole   int64  `json:"whole,omitempty"`
	Updates uint64 `json:"updates,omitempty"`
	// Counted are the steps that the worker's threads had made in the last of all params, and Steps the most that any
	// thread had, where it is of another number of workers.
	Counted []progress.Position `json:"counted,omitempty"`
	Steps   uint64              `json:"steps,omitempty"`
}

// Serve is the blob of OpServe, in a cut in which its worker reads a model for serving.
type Serve struct {
	Cut string `json:"cut"` // its number
	// Before is the chain without that model, doubted while the model is made whole: its worker may end before servers
	// know that it is.
	Before Chain `json:"before"`
}

// Listed is what a server has listed for a model: the chain that it is at, and how many rows thresholds leave out.
type Listed struct {
	Chain
	Left int `json:"left,omitempty"`
}

// Serving says which rows a model for serving takes.
type Serving struct {
	Delta          bool     `json:"delta,omitempty"`
	Params         []string `json:"params"`
	BaseThreshold  float64  `json:"base_threshold"`
	DeltaThreshold float64  `json:"delta_threshold"`
	Keep           int      `json:"keep"`
}

// Chain names the models for serving that were saved: a base, the last one since, and how many deltas there are.
type Chain struct {
	Base       string `json:"base,omitempty"`
	Last       string `json:"last,omitempty"`
	Deltas     int    `json:"deltas,omitempty"`
	Serial     int    `json:"serial,omitempty"`
	Model      string `json:"model,omitempty"`
	Generation string `json:"generation,omitempty"`
}

// Shrink says which rows are dropped at the end of a period.
type Shrink struct {
	Decay    float64 `json:"decay,omitempty"`
	MinScore float64 `json:"min_score,omitempty"`
	Unseen   uint32  `json:"unseen,omitempty"`
}

// Freed is what the end of a period has dropped: rows dropped and waiting ids forgotten, by embedding in the order of
// params.
type Freed struct {
	Rows    []int `json:"rows,omitempty"`
	Waiting []int `json:"waiting,omitempty"`
}

// Rate is the blob of OpRate and its answer: the factor on all learning rates. Without a step in the header the request
// asks for it.
type Rate struct {
	Factor float64 `json:"factor"`
}

// Kept answers OpBring, with a section of the dense values that were asked for unless it is empty.
type Kept struct {
	// Params are the indices of the frozen dense params whose values came from a worker that saved or from a
	// checkpoint.
	Params []int `json:"params,omitempty"`
}

// Scan is the blob of OpScan: rows of a table after a cursor.
type Scan struct {
	Param  uint32 `json:"table"`
	Cursor uint64 `json:"cursor"`
	Rows   int    `json:"rows"` // at most
	// Cut names a cut that is kept for reading: the rows are as they were when it was first asked for them.
	Cut string `json:"cut,omitempty"`
	// Gone wants, in a cut for a model for serving, the ids that it is not to have any more.
	Gone bool `json:"gone,omitempty"`
	// IDs wants no weights, Count neither ids nor weights.
	IDs   bool `json:"ids,omitempty"`
	Count bool `json:"count,omitempty"`
}

// Scanned answers it, with a section of rows, or of ids.
type Scanned struct {
	Cursor uint64 `json:"cursor"`
	Done   bool   `json:"done"`
	// All is the number of rows of the whole table on this server, before and after the cursor.
	All int `json:"all"`
}

// What a reader asks for by OpRead.
const (
	ReadAbout = "about" // what there is to read
	ReadRows  = "rows"  // the rows of a section of ids
	ReadPage  = "page"  // rows by their places in a table
)

// Read is the blob of OpRead.
type Read struct {
	What string `json:"what"`
	// Param, From and Rows are of a page: rows of an embedding from a place on, at most as many.
	Param uint32 `json:"param,omitempty"`
	From  uint64 `json:"from,omitempty"`
	Rows  int    `json:"rows,omitempty"`
}

// Readable answers ReadAbout: which server this is, of how many, and what it has.
type Readable struct {
	Server      int             `json:"server"`
	Servers     int             `json:"servers"`
	Generation  uint64          `json:"generation"`
	Fingerprint uint64          `json:"fingerprint"`
	Params      []ReadableParam `json:"params"`
}

// ReadableParam is an embedding: its number among all params, its shape, and where its rows live.
type ReadableParam struct {
	Name   string `json:"name"`
	Index  uint32 `json:"index"`
	Dim    int    `json:"dim"`
	Height int    `json:"height,omitempty"`
	// Block is how many rows each block has, and On the server of each; nothing where rows are spread by their ids.
	Block int   `json:"block,omitempty"`
	On    []int `json:"on,omitempty"`
	// Most is how many rows a request may ask for.
	Most int `json:"most"`
}

// ReadOut answers ReadRows and ReadPage, with a section of rows as they were between two updates, whose number is the
// header's version. Of a page the rows come with their ids.
type ReadOut struct {
	// Has is a bit for each id that was asked for, 1 if there is a row of it.
	Has []byte `json:"has,omitempty"`
	// Next is the place behind a page, Done that there is none.
	Next uint64 `json:"next,omitempty"`
	Done bool   `json:"done,omitempty"`
}

// JSON adds a control message as a blob.
func (b *Builder) JSON(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("wire: %T: %w", v, err)
	}
	b.Blob(data)
	return nil
}

// JSON reads the frame's control message into v.
func (f *Frame) JSON(v any) error {
	data, ok := f.Blob()
	if !ok {
		return fmt.Errorf("wire: %v without a message: %w", f.Op, ErrFrame)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("wire: message of %v: %w: %w", f.Op, ErrFrame, err)
	}
	return nil
}

// Blob is the frame's first blob, if it has one.
func (f *Frame) Blob() ([]byte, bool) {
	s, ok := f.section(KindBlob)
	return s.data, ok
}
