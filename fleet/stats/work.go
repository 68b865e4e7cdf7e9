package stats

import "time"

// Work is what a worker does with its time and its data, in this process.
type Work struct {
	// Epoch is under way, as SetProgress says, and so many Examples of its share are trained.
	Epoch         int `name:"worker_epoch" help:"Epoch under way, from 0."`
	EpochExamples int `name:"worker_epoch_examples" help:"Examples trained of it."`
	// Examples are the number of examples in all training steps of this process.
	Examples int64 `name:"worker_examples_total" help:"Examples trained."`
	// Input is the time between training steps, of all threads together: for rows, evaluations, checkpoints. Pull is
	// until weights were there, Compute the step itself, Push until its gradient was taken.
	Input   time.Duration `name:"worker_step_seconds_total" by:"part=input" help:"Time of training threads."`
	Pull    time.Duration `name:"worker_step_seconds_total" by:"part=pull"`
	Compute time.Duration `name:"worker_step_seconds_total" by:"part=compute"`
	Push    time.Duration `name:"worker_step_seconds_total" by:"part=push"`
	// Open are pushes and the like that servers have not answered.
	Open int `name:"worker_open_pushes" help:"Pushes without an answer so far."`
	// Staleness is that of Counts, by push.
	Staleness Histogram `name:"worker_staleness_updates" help:"Updates between pull and push."`
}

// Request is how long requests of a kind take. A worker's last until their answers are there, which in rounds is when
// the others have pushed too, and a server's until it has answered.
type Request struct {
	Op      string
	Seconds Histogram `name:"request_seconds" help:"How long requests take, by op."`
}

// Link is what a worker and a server have exchanged, in bytes before compression, with what was sent again; and how
// many of the worker's steps and evaluations have asked the server, and waited for it how long, all together.
type Link struct {
	Server   int
	Sent     int64 `name:"worker_link_bytes_total" by:"of=sent" help:"Between a worker and a server."`
	Received int64 `name:"worker_link_bytes_total" by:"of=received"`

	Calls  int64         `name:"worker_link_calls_total" help:"Requests of steps and evaluations."`
	Waited time.Duration `name:"worker_link_seconds_total" help:"Waits for their answers."`
}
