package fleet

// Counts is what became of a worker's pushes so far.
type Counts struct {
	// Steps were pushed and acknowledged by every server that had a part of them.
	Steps int64
	// Rows of embeddings were applied, counted at the servers.
	Rows int64
	// Doubled requests had been applied before: the first answer was lost, and they changed nothing.
	Doubled int64
	// Dropped rows were pushed and not applied: an entry policy did not admit them, or the table's budget was spent.
	Dropped int64
	// NotFinite rows and variables held NaN or infinities and were skipped or clipped, as Strategy.NotFinite says.
	NotFinite int64
}

// Counts is what became of this worker's pushes so far: zero without servers, on a server, and before InitWorker.
func (f *Fleet) Counts() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.client == nil {
		return Counts{}
	}
	return Counts(f.client.Counts())
}
