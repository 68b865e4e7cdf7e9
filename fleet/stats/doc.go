// Package stats has the counters of a process of a job: fleet.Fleet.Stats returns a [Process].
//
//	s := f.Stats()
//	for _, t := range s.Tables {
//		fmt.Println(t.Name, t.Rows, "rows", t.Bytes, "bytes")
//	}
//	fmt.Println(s.Counts.Steps, "steps,", s.Counts.Staleness(), "updates late on average")
//
// A server has [Server] and a [Table] for each embedding, a worker has [Counts] and [Work]; both have the times of
// their requests and the counters of their transport. All can be logged with slog, which shows the values that are not
// zero. [Traffic] is the expected cost of a step in fleet.Fleet.Explain. [Shrunk] and [Saved] say what Shrink has
// dropped and what SaveModel has saved.
package stats
