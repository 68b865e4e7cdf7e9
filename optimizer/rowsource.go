package optimizer

// A RowSource provides the rows that an embedding begins with. Every process of a job must have the same source; each
// server takes its share.
type RowSource interface {
	// EachRow calls do with ids and their rows until all rows were passed or do returns an error, which EachRow
	// returns. If an id occurs twice, the last row counts. do must not keep the slices.
	EachRow(do func(ids []uint64, w []float32) error) error
	// String identifies this source, by the number of rows and a checksum of ids and values. It is part of the
	// fingerprint that servers and workers compare.
	String() string
}
