// Package stats has what a process of a job counts, as fields: [Process] is what fleet.Fleet.Stats returns.
//
//	s := f.Stats()
//	for _, t := range s.Tables {
//		fmt.Println(t.Name, t.Rows, "rows", t.Bytes, "bytes")
//	}
//	fmt.Println(s.Counts.Steps, "steps,", s.Counts.Staleness(), "updates late on average")
//
// A server has [Server] and a [Table] for each embedding, a worker [Counts] and [Work], both their requests' times and
// their transport's counts. All are values of
// slog, which show what is not zero. [Traffic] is what fleet.Fleet.Explain expects of a step, and
// [Shrunk] and [Saved] what Shrink and SaveModel have dropped and saved.
package stats
