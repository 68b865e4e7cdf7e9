package optimizer

import (
	"context"
	"io"
)

// Objective is what is minimised. A loss node of package nn is one; a user with his own autograd writes another.
type Objective interface {
	// Params lists every variable behind the objective, in a fixed order that is the same in every process of a job.
	Params() []*Param
	// Bind gives the objective the trainer to train with. It is called once, by Minimize.
	Bind(Trainer)
}

// A CheckedObjective can say why it can't be minimised, which Minimize then refuses on every role.
type CheckedObjective interface {
	Objective
	// Minimizable returns an error that names what was to be minimised and what is wrong with it, or nil.
	Minimizable() error
}

// Trainer keeps the weights of an objective: a fleet of servers, or one process alone.
type Trainer interface {
	// Open starts a session for one training thread. params are the thread's own arrays: the objective's params, or
	// copies of them with the same names and shapes (a second thread has its own W and G).
	Open(params []*Param) (Session, error)
	// EndEpoch says that this worker has no more batches in this epoch: in sync mode the others go on without it until
	// all have ended.
	EndEpoch(ctx context.Context) error
}

// A Resumer is a trainer whose job may go on in the middle of an epoch: the weights hold what was trained of it before.
type Resumer interface {
	// Passed says whether the next batch of the thread, of so many samples, is in the weights already. A training loop
	// asks it for each batch of an epoch, in their order, and does not train on one that is.
	Passed(thread, threads, samples int) bool
}

// A Counter is a trainer that knows how many steps were made before this process began. What an objective draws at
// random in a step, such as what it drops, it draws by worker, thread and [Step].Number, so that no two steps of a job
// draw the same.
type Counter interface {
	// Made is the index of this worker, and the Number of the last step that a thread has made: of one that is new, the
	// largest of any. known is false where the weights have more steps in them than anybody has counted.
	Made(thread, threads int) (worker int, number uint64, known bool)
}

// A Looker is a trainer whose sessions read rows beside a step's, with them: Begin fills Step.Beside. An
// objective whose trainer says no, or is none, reads these rows in a session of its own that evaluates.
type Looker interface {
	// Looks says whether they do.
	Looks() bool
}

// Session is one thread's training: Begin and End alternate, Begin first. After an error of either the session is
// finished.
type Session interface {
	// Begin brings the weights for a step: it sets W of every dense param and fills Rows.W of every Rows in the step.
	Begin(ctx context.Context, s *Step) error
	// End hands over the gradients of the step that Begin opened: G of every dense param that is not frozen and Rows.G.
	// All slices are free again when it returns. A step with Eval set ends without gradients.
	End(ctx context.Context, s *Step) error
	// Close waits until everything handed over has been applied and frees the session.
	Close(ctx context.Context) error
}

// Step is one batch as the keeper of the weights sees it.
type Step struct {
	// Samples is the number of examples in the batch; gradients are of the mean loss over them.
	Samples int
	// Loss is the mean loss of the batch, known when the step ends; 0 where an objective does not say it. Few trainers
	// ask.
	Loss float64
	// Eval marks a step that only reads: no gradients, and no row is born.
	Eval bool
	// Thread says which of a worker's Threads makes the step, where several train on shares of the worker's data at
	// once; 0 of 0 is the only one. How far a worker is in its data is counted by thread.
	Thread, Threads int
	// Number counts the training steps that the thread has made in the job, with this one and over restarts: a trainer
	// keeps it beside how far the thread is in its data, and says it as a [Counter]. 0 is not counted.
	Number uint64
	// Rows has one entry for each embedding that the objective uses, in the order of Params.
	Rows []Rows
	// Beside are rows that a training step reads as an evaluation does, for what is computed beside its loss: nil, or
	// one for each of Rows with IDs, W and Next alone. None is born or trained by that. Only sessions of a [Looker]
	// fill them.
	Beside []Rows
}

// Rows are the rows of one embedding that a batch touches.
type Rows struct {
	Param *Param
	// IDs are the batch's ids, unique and strictly increasing.
	IDs []uint64
	// W and G have len(IDs) rows of Param.Dim() floats. Begin fills W; the caller fills G before End.
	W, G []float32
	// Show and Click say how often the batch shows each of IDs to somebody, and how often that one clicked, len(IDs)
	// numbers each, for a param whose Entry is a [ShowClick]; others don't read them. Without Show each id is one show,
	// without Click there is none.
	Show, Click []float32
	// Pushes say how many workers' gradients each of IDs was folded of, where a trainer has done so; nil is one each.
	// Objectives leave it.
	Pushes []int32
	// Next are the ids of the batch to come, unique and strictly increasing, or nil when it is not known. A trainer may
	// fetch them early.
	Next []uint64
}

// Model is what can be saved for inference. Of a param whose initial values its graph does not tell it may have a
// method Given(p *Param) int: so many first rows of p are written, with their initial values if they were never
// trained. What it is fed and computes may be written beside it, for other programs, by a method
// WriteSignature(io.Writer) error.
type Model interface {
	Params() []*Param
	// WriteGraph writes the computation, without weights, in a form that package nn (or the user's own loader) reads
	// back.
	WriteGraph(io.Writer) error
}
