package mode

import "github.com/gofleet/gofleet/strategy"

// Traits holds the facts about a mode on which other packages depend. They test a trait and never a mode's name, so
// that a mode consists of its machines, its row of the table below and its session in package session.
//
// Each trait is one fact with several consequences; its comment lists them.
type Traits struct {
	// Lockstep: workers wait for each other at the servers. So a worker that has ended can't come back, since the
	// others have gone on without it; a worker trains with one session, since servers count a worker's pushes; and each
	// push goes to every server.
	Lockstep bool
	// Rounds: the gradients of a round become one update, which all servers make in the same order. So servers, not
	// workers, clip, since the mean gradient is clipped; a change of the learning rate names the round it begins with;
	// and a worker's death may leave its last gradient in the weights of some servers only.
	Rounds bool
	// Copies: workers train copies of the tables, and push differences of weights. So servers add what they receive,
	// whatever the rule; they number their rows, and record for each worker which of them others have changed; a
	// session trains though its first step is an evaluation; a worker pushes once in several steps; and data whose push
	// one server has are not trained again if another server lacks it.
	Copies bool
	// Threads: the training threads of a worker meet at each step, and make one push together.
	Threads bool
	// Queues: gradients wait in a [SendQueue] on the worker, beside training.
	Queues bool
	// Foresight: every push is an update of its own, of gradients that miss others' updates. So the dense weights of an
	// answer may be sent as momentum will have moved them when the worker's next gradient arrives.
	Foresight bool
	// NewServer returns the mode's half on a server, for a number of workers and the strategy's staleness.
	NewServer func(workers, staleness int) Server
}

var traits = map[strategy.Mode]Traits{
	strategy.ModeSync: {Lockstep: true, Rounds: true,
		NewServer: func(workers, _ int) Server { return NewSync(workers) }},
	strategy.ModeSSP: {Lockstep: true, Foresight: true,
		NewServer: func(workers, staleness int) Server { return NewSSP(workers, staleness) }},
	strategy.ModeAsync:     {Queues: true, Foresight: true, NewServer: newAsync},
	strategy.ModeHalfAsync: {Threads: true, Foresight: true, NewServer: newAsync},
	strategy.ModeGeo:       {Copies: true, NewServer: func(workers, _ int) Server { return NewCopies(workers) }},
}

func newAsync(int, int) Server { return new(Async) }

// Of returns the traits of a mode; NewServer is nil for an unknown mode.
func Of(m strategy.Mode) Traits { return traits[m] }
