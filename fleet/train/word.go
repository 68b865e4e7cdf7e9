package train

// Workers meet at the end of an epoch, and for an evaluation in the middle of one: each says how far it is, they
// measure, and at an epoch's end they agree whether there is another. What they say is always a word, so that a worker
// that was started again alone, and comes in the middle of what the others do, finds its place by what they say.
type word struct {
	Kind  kind
	Epoch int  // from 0
	Ended bool // the worker has trained on its share of the epoch
	Stop  bool // a hook of it has stopped the job
	Known int  // evaluations that it knows of
	// Card is what rows it has, when the job begins.
	Card  *card
	Front int // epochs that it knows to have ended
	// Sums are what it has measured.
	Sums tallies
	// Chances are what it has predicted and observed of two classes; a worker of an earlier version tells none.
	Chances tallies
	// Pace is how it went on its way there.
	Pace *measured
	// Of is how many workers measure a share each.
	Of int
	// History is its memory, as JSON, for workers that know less.
	History []byte
}

// kind is what workers say a word for.
type kind int

const (
	meets    kind = iota // how far each is
	recalls              // the history, for workers that lack some of it
	measures             // what was measured
	agrees               // that the epoch is over
	acts                 // that hooks have done what an evaluation in the middle of an epoch asks for
)

// card is what a worker shows of its rows when the job begins: to train on, and to test on.
type card struct {
	Worker int
	Has    [2]stock
}

// stock is how many rows there are, -1 if unknown, and their digest, of some of them, "" if there is none.
type stock struct {
	Rows   int
	Digest string
}

// differs says whether two workers are known to have different rows.
func (s stock) differs(other stock) bool {
	known := s.Rows >= 0 && other.Rows >= 0
	return known && (s.Rows != other.Rows || s.Digest != "" && other.Digest != "" && s.Digest != other.Digest)
}
