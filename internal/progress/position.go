package progress

import "slices"

// Position is how far one training thread of a worker is in its data: it has trained on the first Samples of its share
// of an epoch. The worker has Threads of them, and its shares of the data go by that number; of 0 threads nothing is
// known.
type Position struct {
	Thread  uint16 `json:"thread,omitempty"`
	Threads uint16 `json:"threads"`
	Epoch   uint32 `json:"epoch"`
	Samples uint64 `json:"samples"`
	// Steps is how many training steps the thread has made in the job, in all epochs; 0 where they are not counted.
	Steps uint64 `json:"steps,omitempty"`
}

// Moved is at, the positions of one worker's threads in their order, with one that came later. A worker that has
// another number of threads than before has no other positions, and one of which nothing is known has none.
func Moved(at []Position, p Position) []Position {
	if len(at) > 0 && at[0].Threads != p.Threads {
		at = at[:0]
	}
	if p.Threads == 0 {
		return at
	}
	i, found := slices.BinarySearchFunc(at, p, func(a, b Position) int { return int(a.Thread) - int(b.Thread) })
	if found {
		at[i] = p
		return at
	}
	return slices.Insert(at, i, p)
}

// Lowest are the positions that two servers agree on: of each thread the one that is behind. A thread that one of them
// has not heard of has none.
func Lowest(a, b []Position) (low []Position) {
	for _, p := range a {
		i := slices.IndexFunc(b, func(q Position) bool { return q.Thread == p.Thread && q.Threads == p.Threads })
		if i >= 0 {
			low = append(low, behind(p, b[i]))
		}
	}
	return low
}

// Agreed is what two servers have of a worker's data together. Pushes of gradients that one of them lacks are made
// again; differences of a copy are not, whose worker no longer has it, since the other server has them for good.
func Agreed(copies bool, a, b []Position) []Position {
	if copies {
		return Furthest(a, b)
	}
	return Lowest(a, b)
}

// Furthest are the positions that any of two servers has: of each thread the one that is ahead. Where they know other
// numbers of threads, the server that has more of the data is right.
func Furthest(a, b []Position) (all []Position) {
	if len(a) == 0 || len(b) > 0 && a[0].Threads != b[0].Threads && precedes(a, b) {
		return b
	}
	all = slices.Clone(a)
	for _, p := range b {
		i := slices.IndexFunc(a, func(q Position) bool { return q.Thread == p.Thread })
		if a[0].Threads == p.Threads && (i < 0 || behind(p, a[i]) != p) {
			all = Moved(all, p)
		}
	}
	return all
}

// precedes says whether a's threads are together less far than b's.
func precedes(a, b []Position) bool {
	epoch, samples := Sum(a)
	its, more := Sum(b)
	return epoch < its || epoch == its && samples < more
}

// Sum is how far the threads of a worker are together: in the last epoch that any of them is in.
func Sum(at []Position) (epoch int, samples uint64) {
	for _, p := range at {
		epoch = max(epoch, int(p.Epoch))
	}
	for _, p := range at {
		if int(p.Epoch) == epoch {
			samples += p.Samples
		}
	}
	return epoch, samples
}

func behind(p, q Position) Position {
	if q.Epoch < p.Epoch || q.Epoch == p.Epoch && q.Samples < p.Samples {
		return q
	}
	return p
}
