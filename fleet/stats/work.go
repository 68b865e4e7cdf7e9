package stats

import "time"

// Work is a worker's use of time and data, in this process.
type Work struct {
	// Epoch is the current epoch, by SetProgress, and EpochExamples the number of examples of its share already
	// trained.
	Epoch         int `name:"worker_epoch" help:"Epoch under way, from 0."`
	EpochExamples int `name:"worker_epoch_examples" help:"Examples trained of it."`
	// Examples is the number of examples in all training steps of this process.
	Examples int64 `name:"worker_examples_total" help:"Examples trained."`
	// Input is the time between training steps, of all threads together: for rows, evaluations, checkpoints. Pull is
	// the wait for weights, Compute the step itself, Push the wait until its gradient was accepted.
	Input   time.Duration `name:"worker_step_seconds_total" by:"part=input" help:"Time of training threads."`
	Pull    time.Duration `name:"worker_step_seconds_total" by:"part=pull"`
	Compute time.Duration `name:"worker_step_seconds_total" by:"part=compute"`
	Push    time.Duration `name:"worker_step_seconds_total" by:"part=push"`
	// Open is the number of pushes and similar requests that servers have not answered.
	Open int `name:"worker_open_pushes" help:"Pushes without an answer so far."`
	// Staleness is the distribution, over pushes, of the staleness in Counts.
	Staleness Histogram `name:"worker_staleness_updates" help:"Updates between pull and push."`
}

// Request is the duration of requests of one kind. On a worker they last until the answer arrives, which in rounds is
// after the other workers have pushed too; on a server until it has answered.
type Request struct {
	Op      string
	Seconds Histogram `name:"request_seconds" help:"How long requests take, by op."`
}

// Link counts the traffic between a worker and a server: bytes before compression, including retries, and the requests
// of the worker's steps and evaluations to the server, with their total waiting time.
type Link struct {
	Server   int
	Sent     int64 `name:"worker_link_bytes_total" by:"of=sent" help:"Between a worker and a server."`
	Received int64 `name:"worker_link_bytes_total" by:"of=received"`

	Calls  int64         `name:"worker_link_calls_total" help:"Requests of steps and evaluations."`
	Waited time.Duration `name:"worker_link_seconds_total" help:"Waits for their answers."`
}
