package optimizer

// A RowSource has rows that an embedding begins with. Every process of a job must have the same, of which a server
// takes its own.
type RowSource interface {
	// EachRow calls do with ids and their rows, one after the other, until all were given or do fails, whose error it
	// returns. Of an id that comes twice the last row counts. do does not keep the slices.
	EachRow(do func(ids []uint64, w []float32) error) error
	// String tells this source from others, by the number of rows and a checksum of ids and values: it is part of the
	// fingerprint that servers and workers compare.
	String() string
}
