package epoch

// At is what a member says of itself, again until it is told what to do.
type At struct {
	Worker int `json:"worker"`
	// Life is the number of its process. N is that of the message in this life: one more for each order that it has
	// carried out.
	Life uint32 `json:"life"`
	N    uint64 `json:"n"`
	// Epoch is the epoch that it is in. Ended says that its share of that epoch is trained; else it is due to evaluate
	// in the middle. A process that begins is in the epoch before the first of which it has samples left.
	Epoch  int  `json:"epoch"`
	Ended  bool `json:"ended,omitempty"`
	Begins bool `json:"begins,omitempty"`
	// Stands is what it brings to where it stands, such as averages of its steps: all that measure get that of each. Of
	// a process that begins it describes what that has.
	Stands []byte `json:"stands,omitempty"`
	// Known is how many evaluations its hooks know, the last of them by the order of the try Saw, and Shown the last
	// that it has led. For is the evaluation that it is due for, counted from 1.
	Known int `json:"known"`
	Saw   int `json:"saw,omitempty"`
	Shown int `json:"shown,omitempty"`
	For   int `json:"for,omitempty"`
	// Closed is how many epochs its hooks have ended, the last of them by the order of that Try. Led says that it has
	// led that end.
	Closed int  `json:"closed,omitempty"`
	Try    int  `json:"try,omitempty"`
	Led    bool `json:"led,omitempty"`
	// Did is the last order that it has carried out, with what it brings: its share of an evaluation (Measure), or what
	// it remembers of the job (Act, End). Failed says that it could not train another's rest (Rest).
	Did     Do     `json:"did,omitempty"`
	Brought []byte `json:"brought,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
	// Stop is why it wants to stop the job, "" if it does not.
	Stop string `json:"stop,omitempty"`
	// Epochs is how many epochs the job has; of one that Chooses them one at a time, how many this member knows. Leases
	// says that a member can train what a lost one has left, and Apart that it does not know how many samples another
	// has. All are the same of all members, and known once they have begun.
	Epochs  int  `json:"epochs,omitempty"`
	Chooses bool `json:"chooses,omitempty"`
	Leases  bool `json:"leases,omitempty"`
	Apart   bool `json:"apart,omitempty"`
	// Last says that there is no epoch to choose any more (Choose). Else Brought is what the next one is, none if that
	// is not known yet.
	Last bool `json:"last,omitempty"`
}

// next is the first epoch of which the member has not ended its share.
func (a *At) next() int {
	if a.Ended {
		return a.Epoch + 1
	}
	return a.Epoch
}

// Do is what a member is told to do.
type Do string

const (
	Begin   Do = "begin"   // the job, with what all have brought and what it knows
	Train   Do = "train"   // an epoch, from where its weights are
	Measure Do = "measure" // its share of an evaluation
	Act     Do = "act"     // hooks see an evaluation, of an epoch that they have begun
	End     Do = "end"     // hooks end an epoch
	Stand   Do = "stand"   // where it is, while others in step train on: it asks again
	Rest    Do = "rest"    // what a lost worker has left
	Choose  Do = "choose"  // what the next epoch is
	Stop    Do = "stop"    // its epoch here, which is then ended
	Over    Do = "over"    // the job
)

// Told is the answer to an At.
type Told struct {
	// N is that of the message that it answers.
	N  uint64 `json:"n"`
	Do Do     `json:"do"`
	// First is, for a process that begins, the first epoch that it trains. Together says that all others begin too, and
	// Cards are what each brought that began with the job, by worker.
	First    int      `json:"first,omitempty"`
	Together bool     `json:"together,omitempty"`
	Cards    [][]byte `json:"cards,omitempty"`
	// Epoch is the epoch to train, to measure or to end. Alone says that the job has ended it: it is trained without
	// hooks and evaluations. Middles is how many evaluations the job has made in the middle of it.
	Epoch   int  `json:"epoch,omitempty"`
	Alone   bool `json:"alone,omitempty"`
	Middles int  `json:"middles,omitempty"`
	// Share is the share to measure, of so many, at the End of the epoch or in its middle, and Stands is what each of
	// them has brought, by share. Counts are the epochs before this one whose samples it counts too.
	Share  int      `json:"share,omitempty"`
	Of     int      `json:"of,omitempty"`
	End    bool     `json:"end,omitempty"`
	Stands [][]byte `json:"stands,omitempty"`
	Counts []Span   `json:"counts,omitempty"`
	// Made is the evaluation to act on.
	Made *Made `json:"made,omitempty"`
	// Again says that hooks may have ended the epoch before, on any worker, or may have seen the evaluation.
	Again bool `json:"again,omitempty"`
	Try   int  `json:"try,omitempty"`
	// Lost are the workers of which a rest is left: one to train (Rest), or all that the job is short of (Over).
	Lost []Left `json:"lost,omitempty"`
	// Why is why the job stops, "" if it has come to its end. Where all stop at once, Train says so too.
	Why string `json:"why,omitempty"`
	// Place counts where hooks are called, in the same way for all.
	Place uint64 `json:"place,omitempty"`
	// Lead is the member that prints and saves for all.
	Lead int `json:"lead"`
	// Known and Memory are what the job knows, if that is more than the member does.
	Known  int    `json:"known,omitempty"`
	Memory []byte `json:"memory,omitempty"`
	// Epochs are the epochs that were chosen, and Chosen what they are, if these are more than the member knows.
	Epochs int    `json:"epochs,omitempty"`
	Chosen []byte `json:"chosen,omitempty"`
}

// Span is some epochs of a worker, From up to but not including To.
type Span struct {
	Worker int `json:"worker"`
	From   int `json:"from"`
	To     int `json:"to"`
}

// Left is the rest of a lost worker: all after these samples of its share of an epoch.
type Left struct {
	Worker  int    `json:"worker"`
	Epoch   int    `json:"epoch"`
	Samples uint64 `json:"samples,omitempty"`
}

// Record is a fact, which is noted before anybody is told what follows from it. One field is set.
type Record struct {
	Made   *Made   `json:"made,omitempty"`
	Ground *Ground `json:"ground,omitempty"`
}

// Made is an evaluation.
type Made struct {
	// Number counts evaluations from 1 on.
	Number int `json:"number"`
	Epoch  int `json:"epoch"`
	// End says that it is at the end of the epoch, else in the middle.
	End bool `json:"end,omitempty"`
	// By are the workers that have measured, in the order of the shares.
	By     []int    `json:"by"`
	Shares [][]byte `json:"shares"`
	// Ended is how many epochs the job has ended by then, and Counted are, by worker, the epochs whose samples
	// evaluations have counted.
	Ended   int   `json:"ended,omitempty"`
	Counted []int `json:"counted,omitempty"`
}

// Ground is what the members have done together.
type Ground struct {
	// Known is how many evaluations hooks know, Memory what a member remembers that does.
	Known  int    `json:"known,omitempty"`
	Memory []byte `json:"memory,omitempty"`
	// Ended is how many epochs all have ended and evaluated, Closed how many of these hooks have ended.
	Ended   int   `json:"ended,omitempty"`
	Closed  int   `json:"closed,omitempty"`
	Middles int   `json:"middles,omitempty"` // evaluations since then
	Counted []int `json:"counted,omitempty"` // by worker: epochs whose samples an epoch's end has counted
	// Stop is why the job stops, "" if it does not.
	Stop string `json:"stop,omitempty"`
	// Epochs is how many epochs were chosen, in a job that chooses them, Chosen what they are, and Last says that there
	// are no more.
	Epochs int    `json:"epochs,omitempty"`
	Chosen []byte `json:"chosen,omitempty"`
	Last   bool   `json:"last,omitempty"`
	// Lives are, by worker, the processes that have begun together in this run of the job, in epoch First where all go
	// in step; nil before that.
	Lives []uint32 `json:"lives,omitempty"`
	First int      `json:"first,omitempty"`
	Cards [][]byte `json:"cards,omitempty"` // what each of them brought
}
