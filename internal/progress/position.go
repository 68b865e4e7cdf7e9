package progress

import (
	"encoding/base64"
	"slices"
)

// Position is the place of one training thread of a worker in its data: it has trained on the first Samples of its
// share of an epoch. Threads is the number of the worker's threads, by which its share of the data is divided; a
// position of 0 threads is unknown.
type Position struct {
	Thread  uint16 `json:"thread,omitempty"`
	Threads uint16 `json:"threads"`
	Epoch   uint32 `json:"epoch"`
	Samples uint64 `json:"samples"`
	// Steps is the number of training steps that the thread has made in the job, in all epochs; 0 if they are not
	// counted.
	Steps uint64 `json:"steps,omitempty"`
	// Frozen has what the worker's steps have computed of frozen params, such as moving averages, as package fleet
	// packs it; "" if nothing.
	Frozen Packed `json:"frozen,omitempty"`
}

// Packed is bytes that are base64 in JSON. Positions with it can be compared.
type Packed string

// MarshalText implements [encoding.TextMarshaler].
func (p Packed) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, []byte(p)), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Packed) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	*p = Packed(b)
	return err
}

// Moved returns at, the positions of one worker's threads in their order, with the later position p put in. If the
// number of threads differs, the old positions are dropped; a position that is unknown removes them.
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

// Lowest returns the positions that two servers agree on: for each thread the earlier one. A thread without a position
// on one of them has none.
func Lowest(a, b []Position) (low []Position) {
	for _, p := range a {
		i := slices.IndexFunc(b, func(q Position) bool { return q.Thread == p.Thread && q.Threads == p.Threads })
		if i >= 0 {
			low = append(low, behind(p, b[i]))
		}
	}
	return low
}

// Agreed returns how much of a worker's data two servers have together. Pushes of gradients that one of them lacks are
// repeated. Differences of a copy are not repeated, since the worker no longer has them and the other server has
// applied them for good.
func Agreed(copies bool, a, b []Position) []Position {
	if copies {
		return Furthest(a, b)
	}
	return Lowest(a, b)
}

// Furthest returns the positions that either of two servers has: for each thread the later one. If they have different
// numbers of threads, the positions of the server with more of the data count.
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

// precedes reports whether a's threads are together less far than b's.
func precedes(a, b []Position) bool {
	epoch, samples := Sum(a)
	its, more := Sum(b)
	return epoch < its || epoch == its && samples < more
}

// Sum returns how far the threads of a worker are together: the last epoch that any of them is in, and their samples in
// it.
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
