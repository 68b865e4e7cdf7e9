package mode

// Copies is [Async] where what workers push are differences of copies that they train. The round of a push is how many
// updates its worker has made of its copy since its last, and Open how many a worker has made, on average, the
// checkpoint's that the job began from included: a worker that begins goes on counting there, as schedules of learning
// rates do.
type Copies struct {
	Async
	workers int
	updates Round // of all workers
}

// NewCopies is the server's half for that many workers.
func NewCopies(workers int) *Copies { return &Copies{workers: workers} }

// Push implements [Server].
func (c *Copies) Push(worker int, updates Round) ([]int, error) {
	c.updates += updates
	return c.Async.Push(worker, updates)
}

// Open implements [Server].
func (c *Copies) Open() Round { return c.updates / Round(c.workers) }

// Played implements [Server].
func (c *Copies) Played(_ []int, updates Round) { c.updates += updates }

// State implements [Server]: it says the updates of all workers.
func (c *Copies) State() State { return State{Open: c.updates} }

// Resume implements [Server].
func (c *Copies) Resume(then State) { c.updates = then.Open }

// Begin has every worker go on behind so many updates.
func (c *Copies) Begin(updates int64) { c.updates = Round(updates) * Round(c.workers) }
