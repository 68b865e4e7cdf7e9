package histogram

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// Scores are scores with their labels, one by one: their metrics are exact, and the same however the scores were
// divided over processes. The zero value is empty.
type Scores struct {
	// Most is the largest number of scores that are kept.
	Most int
	// Sampled says that more scores are a sample of whole groups, by the hash of the group; otherwise none are kept.
	Sampled bool

	rows    []scored // sorted up to so many
	sorted  int
	late    []scored // for the others, while they are sorted
	halved  int      // groups are kept whose hash begins with so many zeros
	dropped bool
	follows *running // nil if nothing follows them
	ranked  *ranked  // nil if nobody has asked for their AUC
	weighs  bool     // some weight is not 1
}

// scored is a score. Its key is twice the bits of the probability, which rise with it, and 1 for a positive label.
type scored struct {
	group  int64
	key    uint32
	weight float64
}

func (a scored) compare(b scored) int {
	switch { // most differ in the first
	case a.group != b.group:
		return cmp.Compare(a.group, b.group)
	case a.key != b.key:
		return cmp.Compare(a.key, b.key)
	}
	return cmp.Compare(a.weight, b.weight)
}

func (a scored) positive() bool { return a.key&1 == 1 }

// Add adds a score, a probability.
func (s *Scores) Add(group int64, p float32, positive bool, weight float64) {
	key := math.Float32bits(p+0) << 1 // −0 is 0
	if positive {
		key++
	}
	s.keep(scored{group, key, weight})
}

func (s *Scores) keep(row scored) {
	if s.dropped || !s.sampled(row.group) {
		return
	}
	s.rows = append(s.rows, row)
	s.follows.add(row)
	s.weighs = s.weighs || row.weight != 1
	s.ranked.add(row.key)
	if len(s.rows) > s.Most {
		s.shrink()
	}
}

// shrink makes the sample smaller until it fits.
func (s *Scores) shrink() {
	for s.Sampled && s.halved < 64 && len(s.rows) > s.Most {
		s.halve(s.halved + 1)
	}
	if len(s.rows) > s.Most {
		s.drop()
	}
}

// halve keeps the groups whose hash begins with so many zeros.
func (s *Scores) halve(zeros int) {
	if zeros <= s.halved {
		return
	}
	s.order()
	s.halved, s.ranked = zeros, nil
	s.follows.forget(func(group int64) bool { return !s.sampled(group) })
	s.rows = slices.DeleteFunc(s.rows, func(r scored) bool { return !s.sampled(r.group) })
	s.sorted = len(s.rows)
}

func (s *Scores) drop() {
	s.rows, s.sorted, s.dropped, s.ranked = nil, 0, true, nil
	s.follows.forget(func(int64) bool { return true })
}

// sampled reports whether a group is in the sample.
func (s *Scores) sampled(group int64) bool {
	if s.halved == 0 {
		return true
	}
	h := (uint64(group) + 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return (h^h>>32)>>(64-s.halved) == 0
}

// order sorts the scores by group, then from the lowest.
func (s *Scores) order() {
	if s.sorted == len(s.rows) {
		return
	}
	s.late = merge(s.rows, s.sorted, s.late)
	s.sorted = len(s.rows)
}

// merge sorts rows, which are sorted up to so many. It returns the room that it needed, for the next call.
func merge(rows []scored, sorted int, room []scored) []scored {
	late := append(room[:0], rows[sorted:]...)
	slices.SortFunc(late, scored.compare)
	i, j := sorted-1, len(late)-1
	for to := len(rows) - 1; j >= 0; to-- {
		if i >= 0 && rows[i].compare(late[j]) > 0 {
			rows[to] = rows[i]
			i--
		} else {
			rows[to] = late[j]
			j--
		}
	}
	return late
}

// Reset empties s.
func (s *Scores) Reset() {
	s.rows, s.sorted, s.halved, s.dropped, s.ranked, s.weighs = s.rows[:0], 0, 0, false, nil, false
	s.follows.forget(func(int64) bool { return true })
}

// Sample is the share of groups that is looked at: 1 for all.
func (s *Scores) Sample() float64 { return math.Ldexp(1, -s.halved) }

// AUC is the area under the ROC curve of scores of one group: the share of pairs of a positive and a negative
// label in which the positive one has the higher score, where equal scores count half; false without a pair. Of scores
// without weights, where all sums are exact, it is kept up to date as they come.
func (s *Scores) AUC() (float64, bool) {
	if s.weighs {
		s.order()
		area, pos, neg := areaOf(s.rows)
		return area / (pos * neg), pos*neg > 0
	}
	if s.ranked == nil {
		s.ranked = new(ranked)
		for _, r := range s.rows {
			s.ranked.add(r.key)
		}
	}
	pos, neg := float64(s.ranked.sum.pos), float64(s.ranked.sum.all-s.ranked.sum.pos)
	return float64(s.ranked.area) / 2 / (pos * neg), pos*neg > 0
}

// PRAUC is the average precision of scores of one group, from the highest down; false without a positive label.
func (s *Scores) PRAUC() (float64, bool) {
	s.order()
	var tp, all, sum float64
	for end := len(s.rows); end > 0; {
		pos, neg := 0.0, 0.0
		for at := s.rows[end-1].key >> 1; end > 0 && s.rows[end-1].key>>1 == at; end-- {
			if r := s.rows[end-1]; r.positive() {
				pos += r.weight
			} else {
				neg += r.weight
			}
		}
		if tp, all = tp+pos, all+pos+neg; pos > 0 {
			sum += pos * tp / all
		}
	}
	return sum / tp, tp > 0
}

// areaOf returns the weight of pairs in order, and the weights of both labels. rows begin with the lowest score.
func areaOf(rows []scored) (area, pos, neg float64) {
	for i := 0; i < len(rows); {
		p, n := 0.0, 0.0
		for at := rows[i].key >> 1; i < len(rows) && rows[i].key>>1 == at; i++ {
			if rows[i].positive() {
				p += rows[i].weight
			} else {
				n += rows[i].weight
			}
		}
		area += p * (neg + n/2)
		pos, neg = pos+p, neg+n
	}
	return area, pos, neg
}

// MostGrouped is the most scores of groups that are kept.
const MostGrouped = 1 << 20

// Grouped are AUCs of groups.
type Grouped struct {
	Weighted float64 // mean over groups, by the weight of their scores; NaN without a group
	Mean     float64 // mean over groups
	Groups   int     // with both labels
	LeftOut  int     // with one label
}

// Groups returns the AUCs of the groups that have both labels.
func (s *Scores) Groups() (g Grouped) {
	weights := 0.0
	for rows := range s.byGroup {
		value, weight := AUCs(rows)
		if weight == 0 {
			g.LeftOut++
			continue
		}
		g.Groups++
		g.Mean += value / weight
		g.Weighted += value
		weights += weight
	}
	g.Mean, g.Weighted = g.Mean/float64(g.Groups), g.Weighted/weights // 0/0 is NaN
	return g
}

// byGroup yields the scores of each group, the lowest first; none if a group did not fit.
func (s *Scores) byGroup(yield func(rows []scored) bool) {
	s.order()
	for from, to := 0, 0; from < len(s.rows); from = to {
		for to = from; to < len(s.rows) && s.rows[to].group == s.rows[from].group; to++ {
		}
		if !yield(s.rows[from:to]) {
			return
		}
	}
}

// Bytes are the scores for [Scores.Join].
func (s *Scores) Bytes() []byte {
	s.order()
	weighted := slices.ContainsFunc(s.rows, func(r scored) bool { return r.weight != 1 })
	b := []byte{byte(s.halved), 0}
	if s.dropped {
		b[1] |= wasDropped
	}
	if weighted {
		b[1] |= hasWeights
	}
	last := scored{}
	for _, r := range s.rows {
		if r.group != last.group {
			last.key = 0
		}
		b = binary.AppendUvarint(b, uint64(r.group-last.group))
		b = binary.AppendUvarint(b, uint64(r.key-last.key))
		if weighted {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.weight))
		}
		last = r
	}
	return b
}

const (
	wasDropped = 1 << iota
	hasWeights
)

// Join adds the scores of another process.
func (s *Scores) Join(b []byte) error {
	if len(b) < 2 {
		return errCut
	}
	if b[1]&wasDropped != 0 {
		s.drop()
	}
	s.halve(min(int(b[0]), 64))
	if s.sorted <= len(s.rows)-s.sorted { // then those of the process before, which are in order, are merged
		s.order()
	}
	last, weighted := scored{}, b[1]&hasWeights != 0
	for b = b[2:]; len(b) > 0; {
		group, n := binary.Uvarint(b)
		key, k := binary.Uvarint(b[max(n, 0):])
		if b = b[max(n, 0)+max(k, 0):]; n <= 0 || k <= 0 || weighted && len(b) < 8 {
			return errCut
		}
		r := scored{last.group + int64(group), uint32(key), 1}
		if group == 0 {
			r.key += last.key
		}
		if weighted {
			r.weight, b = math.Float64frombits(binary.LittleEndian.Uint64(b)), b[8:]
		}
		s.keep(r)
		last = r
	}
	return nil
}

var errCut = errors.New("scores that were measured are cut off")
