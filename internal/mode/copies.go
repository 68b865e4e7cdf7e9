package mode

// Copies is the server's half of modes in which workers push differences of copies that they train: [Async] with a
// count of updates. The round of a push is how many updates its worker has made to its copy since its last push. Open
// is how many updates a worker has made, on average, including those of the checkpoint that the job began from: a
// worker that begins counts on from there, as schedules of learning rates do.
type Copies struct {
	Async
	workers int
	updates Round // of all workers
}

// NewCopies returns the server's half for that many workers.
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

// State implements [Server]. It holds the updates of all workers.
func (c *Copies) State() State { return State{Open: c.updates} }

// Resume implements [Server].
func (c *Copies) Resume(then State) { c.updates = then.Open }

// Begin makes every worker's count continue at that many updates.
func (c *Copies) Begin(updates int64) { c.updates = Round(updates) * Round(c.workers) }
