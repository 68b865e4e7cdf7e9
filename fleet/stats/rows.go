package stats

// Shrunk is what fleet.Fleet.Shrink has dropped of one table.
type Shrunk struct {
	Rows    int // their memory is the next rows'
	Waiting int // ids that waited for a row
}

// Saved describes a base or a delta that fleet.Fleet.SaveModel has saved: Rows of embeddings, and the Bytes of its
// files. Left is how many other rows (for a delta, other changed rows) BaseThreshold, DeltaThreshold and DeltaKeepDays
// left out. It is zero for a checkpoint, and where another worker saves.
type Saved struct {
	Rows, Left int
	Bytes      int64
}
