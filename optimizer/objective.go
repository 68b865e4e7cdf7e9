package optimizer

import (
	"context"
	"io"
)

// Objective is a function to minimise. A loss node of package nn is one; with your own autograd you implement another.
// It may have a method Minimizable() error, which returns nil or what is wrong with it; Minimize then returns that
// error on every role.
type Objective interface {
	// Params lists every variable behind the objective, in a fixed order that is the same in every process of a job.
	Params() []*Param
	// Bind sets the objective's trainer. Minimize calls it once.
	Bind(Trainer)
}

// Trainer keeps the weights of an objective: on servers, or in the same process.
//
// A trainer may have further methods:
//
//	Passed(thread, threads, samples int) bool
//		whether the weights already contain the next batch of the thread, which has that many samples, in a job that
//		resumes in the middle of an epoch: a training loop calls it for each batch, in order, and skips those
//	Made(thread, threads int) (worker int, number uint64)
//		the index of this worker, and the Number of the last step that a thread has made, for a new thread the largest
//		of any: what an objective draws at random in a step, such as what it drops, it draws by worker, thread and
//		[Step].Number, so that no two steps of a job draw the same
//	Looks() bool
//		whether its sessions read additional rows together with a step's, so that Begin fills Step.Beside; otherwise the
//		objective reads these rows in a separate session for evaluation
type Trainer interface {
	// Open starts a session for one training thread. params are the thread's own arrays: the objective's params, or
	// copies with the same names and shapes (a second thread has its own W and G).
	Open(params []*Param) (Session, error)
	// EndEpoch says that this worker has no more batches in this epoch. In sync mode the others go on without it until
	// all have ended the epoch.
	EndEpoch(ctx context.Context) error
}

// Session is one thread's training: Begin and End alternate, Begin first. After an error of either, the session can't
// be used again.
type Session interface {
	// Begin provides the weights for a step: it sets W of every dense param and fills Rows.W of every Rows in the step.
	Begin(ctx context.Context, s *Step) error
	// End takes the gradients of the step that Begin opened: G of every dense param that is not frozen, and Rows.G. The
	// caller may reuse all slices when it returns. A step with Eval set ends without gradients.
	End(ctx context.Context, s *Step) error
	// Close waits until everything handed over has been applied and frees the session.
	Close(ctx context.Context) error
}

// Step is one batch as the trainer sees it.
type Step struct {
	// Samples is the number of examples in the batch; gradients are of the mean loss over them.
	Samples int
	// Loss is the mean loss of the batch, set before End; 0 if the objective does not report it. Few trainers use it.
	Loss float64
	// Eval marks a step that only reads: it has no gradients and creates no rows.
	Eval bool
	// Thread is the index among the worker's Threads that train at the same time on shares of its data; 0 of 0 means a
	// single thread. Positions in the data are counted by thread.
	Thread, Threads int
	// Number counts the training steps of the thread in the job, including this one and across restarts. A trainer
	// keeps it together with the thread's position in its data, and returns it from Made. 0 means not counted.
	Number uint64
	// Rows has one entry for each embedding that the objective uses, in the order of Params.
	Rows []Rows
	// Beside are rows that a training step reads without creating or training them, for outputs other than its loss:
	// nil, or one entry for each of Rows with only IDs, W and Next set. Only a [Trainer] that Looks fills them.
	Beside []Rows
	// Settle, if not nil, hands the trainer what the step has computed beside gradients, such as the averages of batch
	// norm. A session whose threads wait for each other in End calls it for all threads before any goes on, so that a
	// thread that measures between two steps has the averages of all. Other sessions need not call it: the objective
	// does so after End.
	Settle func()
}

// Rows are the rows of one embedding that a batch touches.
type Rows struct {
	Param *Param
	// IDs are the batch's ids, unique and strictly increasing.
	IDs []uint64
	// W and G have len(IDs) rows of Param.Dim() floats. Begin fills W; the caller fills G before End.
	W, G []float32
	// Show and Click count the impressions and clicks of each of IDs in the batch. Only params whose Entry is a
	// [ShowClick] read them. A nil Show means one impression each, a nil Click no clicks.
	Show, Click []float32
	// Pushes is how many workers' gradients a trainer has merged for each of IDs; nil means one each. Objectives don't
	// set it.
	Pushes []int32
	// Next are the ids of the next batch, unique and strictly increasing, or nil if it is not known. A trainer may
	// prefetch them. One whose Looks is false has them in End alone.
	Next []uint64
}

// Model can be saved for inference. It may have a method Given(p *Param) int, for a param whose initial values are not
// in the graph: that many first rows of p are written, with their initial values if they were never trained. It may
// also have a method WriteSignature(io.Writer) error, which writes a description of its inputs and outputs for other
// programs.
type Model interface {
	Params() []*Param
	// WriteGraph writes the computation, without weights, in a form that package nn (or the user's own loader) reads
	// back.
	WriteGraph(io.Writer) error
}
