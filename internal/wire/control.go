package wire

import (
	"encoding/json"
	"fmt"

	"github.com/gofleet/gofleet/internal/progress"
)

// Hello is the blob of OpHello and OpJoin.
type Hello struct {
	// Process distinguishes a repeated join of the same process from a new process in its place.
	Process     uint64   `json:"process"`
	Fingerprint []string `json:"fingerprint"`
	Build       string   `json:"build,omitempty"` // of gofleet, for the refusal
}

// Welcome answers OpHello and OpJoin.
type Welcome struct {
	// Life is the life that begins (OpJoin), and Job is what its frames carry from now on: a secret of worker and
	// server.
	Life uint32 `json:"life,omitempty"`
	Job  uint64 `json:"job,omitempty"`
	// Round is the open round, in which a worker that joins late begins.
	Round uint64 `json:"round"`
	// Published reports that the dense weights are set already.
	Published bool `json:"published"`
	// From is the directory, with the selection in it, that the server was started with; "" for none. Origin identifies
	// the checkpoint or model in it.
	From   string `json:"from,omitempty"`
	Origin string `json:"origin,omitempty"`
	// Progress is the job's, and Begun the epoch that the worker's earlier lives have begun, on server 0.
	Progress Progress       `json:"progress,omitzero"`
	Begun    progress.Begun `json:"begun,omitzero"`
	// Positions are the places of the worker's threads in their data, for the pushes that this server has of its
	// earlier lives, or for those in that checkpoint.
	Positions []progress.Position `json:"positions,omitempty"`
	// Shares is the number of workers of the checkpoint, on server 0, if the job has another number of workers:
	// positions don't count then.
	Shares int `json:"shares,omitempty"`
	// Steps is the largest number of training steps of a thread in that checkpoint.
	Steps uint64 `json:"steps,omitempty"`
	// Gathers is the number of collectives that the worker need not make, on server 0: its earlier lives made them, or
	// the others did without it.
	Gathers uint64 `json:"gathers,omitempty"`
	// Loads are the loads of server 0 until the life began: they are not new to it.
	Loads Loads `json:"loads,omitzero"`
}

// Progress is the progress of a job, as its program reports it.
type Progress struct {
	Epoch int    `json:"epoch,omitempty"`
	User  []byte `json:"user,omitempty"`
	// Meetings is the number of meetings of workers that have changed frozen values.
	Meetings int `json:"meetings,omitempty"`
}

// Begin is the blob of OpBegin: the epoch that a worker's program has begun, with its own data, and the worker's
// positions at the end of the epoch before. Was is the epoch in which the worker was.
type Begin struct {
	Progress
	At  []progress.Position `json:"at,omitempty"`
	Was int                 `json:"was,omitempty"`
}

// IsZero reports whether there is no progress.
func (p Progress) IsZero() bool { return p.Epoch == 0 && p.User == nil && p.Meetings == 0 }

// Saver is the blob of OpSaver and of its answer. In the request, Last reports that the worker stops after it has
// saved, so that it no longer counts as the lowest; Ends, that it was asked to end, as others may have been. In the
// answer, Yours means that this worker saves (with Ends: and that no lower one has ended so), Late that others save for
// it, since they have more of the job, and Wait that it must ask again until these have ended.
type Saver struct {
	Last  bool `json:"last,omitempty"`
	Ends  bool `json:"ends,omitempty"`
	Yours bool `json:"yours,omitempty"`
	Late  bool `json:"late,omitempty"`
	Wait  bool `json:"wait,omitempty"`
}

// Barrier is the call of a collective without results: workers bring statistics that they compute separately, which are
// outdated once they train on.
const Barrier = "BarrierWorker"

// Gather is the blob of OpGather: a worker's part of its n-th collective.
type Gather struct {
	N uint64 `json:"n"`
	// Call is everything that must be the same on every worker: "AllReduce (sum of 3 values)".
	Call string `json:"call"`
	Data []byte `json:"data"`
	// More reports that the part is continued in the next collective.
	More bool `json:"more,omitempty"`
}

// Gathered answers OpGather: with the blob of each worker, nothing for a worker that is gone.
type Gathered struct {
	Data [][]byte `json:"data"`
	// Loads are for workers that have not noticed the last load, and must fetch their weights again.
	Loads Loads `json:"loads,omitzero"`
	// More are the workers whose parts are continued in the next collective.
	More []int `json:"more,omitempty"`
}

// Ask is the blob of OpEpoch: what a worker says of itself, an epoch.At as JSON, in pieces if it is large.
type Ask struct {
	N     uint64 `json:"n"`              // the message's
	Text  []byte `json:"text,omitempty"` // of it, after so many bytes
	After int    `json:"after,omitempty"`
	More  bool   `json:"more,omitempty"` // further pieces follow
	// From asks for a piece of the answer, behind so many bytes, and Most is how many bytes a piece may have.
	From int `json:"from,omitempty"`
	Most int `json:"most"`
}

// Led answers OpEpoch: with what the worker is to do, an epoch.Told as JSON, in pieces if it is large, and with the
// loads as in Gathered. Lacks says that the server lacks earlier pieces: the worker begins again with the first.
type Led struct {
	Text  []byte `json:"text,omitempty"`
	More  bool   `json:"more,omitempty"`
	Lacks bool   `json:"lacks,omitempty"`
	Loads Loads  `json:"loads,omitzero"`
}

// Leave is the blob of OpLeave, OpFence and OpDrop.
type Leave struct {
	Worker int    `json:"worker"`
	Life   uint32 `json:"life"`
	// Why is the reason of the death (OpFence).
	Why string `json:"why,omitempty"`
	// Returns reports that the worker is expected to be started again (OpDrop).
	Returns bool `json:"returns,omitempty"`
	// Forget drops the worker's push for the open round (OpDrop).
	Forget bool `json:"forget,omitempty"`
	// Rate is the factor on learning rates that counts from RateRound on, if one was set: the dead worker may have sent
	// it to some servers only, server 0 first (OpDrop).
	Rate      float64 `json:"rate,omitempty"`
	RateRound uint64  `json:"rate_round,omitempty"`
}

// Ending is the blob of an OpLeave before the work is done, with the reason. Back is the refusal that the worker got
// from a server if all roles are to go back, which that server may not have sent to the others yet.
type Ending struct {
	Why  string `json:"why"`
	Back string `json:"back,omitempty"`
	// Returns reports that the worker was asked to end, or was killed: it is expected to be started again.
	Returns bool `json:"returns,omitempty"`
}

// Report is the blob of OpReport, with which servers identify each other. A server sends it to server 0, with its
// number and its process, and with its fingerprint the first time. Server 0 sends it to ask a server whether it is
// still that process.
type Report struct {
	Server      int      `json:"server"`
	Process     uint64   `json:"process"`
	Fingerprint []string `json:"fingerprint,omitempty"`
	Build       string   `json:"build,omitempty"` // of gofleet, with the fingerprint
	// Ends reports that the sender ends; if the job can't go on, with the status and the reason with which requests are
	// refused.
	Ends   bool   `json:"ends,omitempty"`
	Status uint8  `json:"status,omitempty"`
	Why    string `json:"why,omitempty"`
	// Left are the lives, by worker, that have announced to the sender that they stop; 0 for others. A worker that is
	// killed in between has announced it to some servers only.
	Left []uint32 `json:"left,omitempty"`
	// Stops reports that the sender is about to end and wants a checkpoint saved before.
	Stops bool `json:"stops,omitempty"`
	// Grown reports that the sender's journal has become large, and requests a checkpoint.
	Grown bool `json:"grown,omitempty"`
	// Full reports that a table of the sender that may evict rows is nearly full.
	Full bool `json:"full,omitempty"`
	// Cuts is server 0's report of the cuts that it leads: the highest number, and the one under way, 0 for none.
	Cuts [2]uint64 `json:"cuts,omitzero"`
}

// Reported answers OpReport: with the generation to which the server now belongs.
type Reported struct {
	Generation uint64 `json:"generation,omitempty"`
	Key        uint64 `json:"key,omitempty"`
	// From is the checkpoint that server 0 has begun from, sent with the key.
	From Base `json:"from,omitzero"`
	// Whole is the number of saved checkpoints among those that stopping servers wanted, from server 0.
	Whole int `json:"whole,omitempty"`
}

// Base is one of the job's own checkpoints, from which it goes on; the zero value means none.
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

// Beat answers a heartbeat if there is something to report.
type Beat struct {
	// Save asks the worker to save a checkpoint at once: a server is about to end.
	Save bool `json:"save"`
	// Evict asks the worker to lead a cut in which tables make room.
	Evict bool `json:"evict,omitempty"`
	// Waits is the reason why the oldest request waits that this server has not answered for long.
	Waits string `json:"waits,omitempty"`
	// Computes reports that a worker for which such a request waits lives, and is not waiting itself.
	Computes bool `json:"computes,omitempty"`
}

// Fenced answers OpFence.
type Fenced struct {
	// Published reports that the server has its first weights.
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
	// Loads is how many loads of frozen values the worker has noticed. Values of one that has missed a load are older
	// than what was loaded.
	Loads int64 `json:"loads,omitempty"`
}

// Loads report to a worker the checkpoints that were loaded into running servers.
type Loads struct {
	// Frozen is the number of loads with frozen values.
	Frozen int64 `json:"frozen,omitempty"`
	// Whole is the number of loads of a whole checkpoint, if workers train copies; these go on from that many Updates.
	Whole   int64  `json:"whole,omitempty"`
	Updates uint64 `json:"updates,omitempty"`
	// Counted are the steps that the worker's threads had made in the last loaded checkpoint of all params; Steps is
	// the largest number of steps of a thread, if that is of another number of workers.
	Counted []progress.Position `json:"counted,omitempty"`
	Steps   uint64              `json:"steps,omitempty"`
}

// Serve is the blob of OpServe, in a cut in which its worker reads a model for serving.
type Serve struct {
	Cut string `json:"cut"` // the number of the cut
	// Before is the chain without that model. It is doubted while the model is made whole, since its worker may end
	// before servers know the outcome.
	Before Chain `json:"before"`
}

// Listed is the result of a server's listing for a model: its chain, and the number of rows that thresholds exclude.
type Listed struct {
	Chain
	Left int `json:"left,omitempty"`
}

// Serving selects the rows of a model for serving.
type Serving struct {
	Delta          bool     `json:"delta,omitempty"`
	Params         []string `json:"params"`
	BaseThreshold  float64  `json:"base_threshold"`
	DeltaThreshold float64  `json:"delta_threshold"`
	Keep           int      `json:"keep"`
}

// Chain names the models for serving that were saved: a base, the last one since, and the number of deltas.
type Chain struct {
	Base       string `json:"base,omitempty"`
	Last       string `json:"last,omitempty"`
	Deltas     int    `json:"deltas,omitempty"`
	Serial     int    `json:"serial,omitempty"`
	Model      string `json:"model,omitempty"`
	Generation string `json:"generation,omitempty"`
}

// Shrink selects the rows that are dropped at the end of a period.
type Shrink struct {
	Decay    float64 `json:"decay,omitempty"`
	MinScore float64 `json:"min_score,omitempty"`
	Unseen   uint32  `json:"unseen,omitempty"`
	Evict    bool    `json:"evict,omitempty"` // ends no period: tables near their bound make room
}

// Freed is the number of dropped rows and waiting ids at the end of a period, by embedding in the order of params.
type Freed struct {
	Rows    []int `json:"rows,omitempty"`
	Waiting []int `json:"waiting,omitempty"`
}

// Add adds what a server has dropped, by the text of its answer. It refuses an answer for another number of tables.
func (f *Freed) Add(text []byte, tables int) error {
	var p Freed
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	if len(p.Rows) != tables || len(p.Waiting) != tables {
		return fmt.Errorf("it answered for %d tables, want %d", len(p.Rows), tables)
	}
	for t := range tables {
		f.Rows[t] += p.Rows[t]
		f.Waiting[t] += p.Waiting[t]
	}
	return nil
}

// Rate is the blob of OpRate and its answer: the factor on all learning rates. A request without a step in the header
// reads it.
type Rate struct {
	Factor float64 `json:"factor"`
	Leads  bool    `json:"leads,omitempty"` // the sender leads the job's epochs: no other sets it
}

// Kept answers OpBring, with a section of the requested dense values unless there are none.
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
	// Cut names a cut that is kept for reading: the rows are as they were when the cut was first asked for them.
	Cut string `json:"cut,omitempty"`
	// Gone requests, in a cut for a model for serving, the ids that the model must no longer have.
	Gone bool `json:"gone,omitempty"`
	// IDs requests no weights, Count neither ids nor weights.
	IDs   bool `json:"ids,omitempty"`
	Count bool `json:"count,omitempty"`
}

// Scanned answers OpScan, with a section of rows, or of ids.
type Scanned struct {
	Cursor uint64 `json:"cursor"`
	Done   bool   `json:"done"`
	// All is the number of rows of the whole table on this server, before and after the cursor.
	All int `json:"all"`
}

// The requests of a reader (OpRead).
const (
	ReadAbout = "about" // what there is to read
	ReadRows  = "rows"  // the rows of a section of ids
	ReadPage  = "page"  // rows by their places in a table
)

// Read is the blob of OpRead.
type Read struct {
	What string `json:"what"`
	// Param, From and Rows request a page: at most Rows rows of an embedding from a place on.
	Param uint32 `json:"param,omitempty"`
	From  uint64 `json:"from,omitempty"`
	Rows  int    `json:"rows,omitempty"`
}

// Readable answers ReadAbout: the number of this server, how many there are, and what it has.
type Readable struct {
	Server      int             `json:"server"`
	Servers     int             `json:"servers"`
	Generation  uint64          `json:"generation"`
	Fingerprint uint64          `json:"fingerprint"`
	Params      []ReadableParam `json:"params"`
}

// ReadableParam is an embedding: its number among all params, its shape, and where its rows are.
type ReadableParam struct {
	Name   string `json:"name"`
	Index  uint32 `json:"index"`
	Dim    int    `json:"dim"`
	Height int    `json:"height,omitempty"`
	// Block is the number of rows in each block, and On the server of each; empty if rows are spread by their ids.
	Block int   `json:"block,omitempty"`
	On    []int `json:"on,omitempty"`
	// Most is the number of rows that a request may ask for.
	Most int `json:"most"`
}

// ReadOut answers ReadRows and ReadPage, with a section of rows as they were between two updates, whose number is the
// header's version. The rows of a page come with their ids.
type ReadOut struct {
	// Has has a bit for each requested id, 1 if its row exists.
	Has []byte `json:"has,omitempty"`
	// Next is the place after a page, Done reports that there is none.
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

// JSON decodes the frame's control message into v.
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
