package train

// word is a worker's message to the others. Workers meet at the end of an epoch, and for an evaluation in the middle of
// one: each reports how far it is, they measure, and at an epoch's end they agree whether there is another. All these
// messages are words, so that a worker that was started again alone, and comes in the middle, finds its place from the
// others' messages.
type word struct {
	Kind  kind
	Epoch int  // from 0
	Ended bool // the worker has trained on its share of the epoch
	Stop  bool // one of its hooks has stopped the job
	Known int  // evaluations that it has
	// Card describes its rows, when the job begins.
	Card  *card
	Front int // epochs that have ended, as it knows
	Owes  int // examples of these that no evaluation has counted
	// Sums are its measurements.
	Sums tallies
	// Chances are what it has predicted and observed for two classes.
	Chances tallies
	// Spreads are those of its predictions, of one task after the other.
	Spreads tallies
	// Pace is its pace up to here.
	Pace *measured
	// Of is the number of workers that measure a share each.
	Of int
	// History is its memory, as JSON, for workers that lack a part of it.
	History []byte
}

// kind is the kind of a word.
type kind int

const (
	meets    kind = iota // how far each worker is
	recalls              // the history, for workers that lack some of it
	measures             // measurements
	agrees               // agreement on the epoch's end
	acts                 // hooks have acted on an evaluation in the middle of an epoch
)

// card is a worker's description of its rows when the job begins: to train on, and to test on.
type card struct {
	Worker int
	Has    [2]stock
	Format string // a digest of how files of rows are read, "" if that is not known
}

// stock is the number of rows, -1 if unknown, and a digest of some of them, "" if there is none.
type stock struct {
	Rows   int
	Digest string
}

// differs reports whether two workers are known to have different rows.
func (s stock) differs(other stock) bool {
	known := s.Rows >= 0 && other.Rows >= 0
	return known && (s.Rows != other.Rows || s.Digest != "" && other.Digest != "" && s.Digest != other.Digest)
}
