package stats

// Counts says what happened to a worker's gradients so far. Without servers there are no pushes: only Steps, Rows,
// Dropped and NotFinite count, the rest is 0.
type Counts struct {
	// Steps were applied: pushed and acknowledged by every server that had a part of them.
	Steps int64 `count:"steps" name:"worker_steps_total" help:"Steps applied."`
	// Rows of embeddings were applied, counted where the tables are.
	Rows int64 `count:"rows_applied" name:"worker_rows_total" help:"Rows applied."`
	// Doubled requests had been applied before: the first answer was lost, and they changed nothing.
	Doubled int64 `count:"doubled" name:"worker_doubled_total" help:"Requests that had been applied before."`
	// Dropped rows were not applied: an entry policy did not admit them, or the table's budget was spent. In rounds,
	// whose workers make one update, they are the rows that the update dropped, and at most this worker's own.
	Dropped int64 `count:"rows_dropped" name:"worker_dropped_rows_total" help:"Rows not applied."`
	// NotFinite rows and variables held NaN or infinities and were skipped or clipped, as Strategy.NotFinite says.
	NotFinite int64 `count:"not_finite" name:"worker_not_finite_total" help:"Rows and variables with NaN."`
	// Pushes are the gradients whose staleness is known, counted for each server that had a part: updates that the
	// server made, of any worker's gradients, between the pull of the weights that a gradient was computed on and its
	// own. Stale is the sum of that over all pushes, MostStale the largest.
	Pushes    int64 `name:"worker_pushes_total" help:"Gradients whose staleness is known."`
	Stale     int64 `name:"worker_stale_updates_total" help:"Updates between pull and push, of all pushes."`
	MostStale int64 `name:"worker_most_stale_updates" help:"The most of one push."`
}

// Staleness is how many updates a server made, on average, between the pull and the push of a gradient: 0 in training
// alone and in sync, and in modes without rounds a measure of how far behind the weights gradients are.
func (c Counts) Staleness() float64 {
	if c.Pushes == 0 {
		return 0
	}
	return float64(c.Stale) / float64(c.Pushes)
}
