package layout

import "slices"

// Share is one server's part of a list of ids: either the run [Lo, Hi) of it, or the positions At.
type Share struct {
	Lo, Hi int
	At     []int32
}

// Len is the number of ids in the share.
func (s *Share) Len() int {
	if len(s.At) > 0 {
		return len(s.At)
	}
	return s.Hi - s.Lo
}

// Run says whether the share is the run [Lo, Hi), so that its rows lie side by side.
func (s *Share) Run() bool { return len(s.At) == 0 }

// Cut divides ids, strictly increasing, of the embedding Params[param] among the servers. It reuses shares, which has one
// entry for each server.
func (l *Layout) Cut(param int, ids []uint64, shares []Share) {
	for s := range shares {
		shares[s] = Share{At: shares[s].At[:0]}
	}
	if l.Params[param].Height() == 0 {
		l.scatter(param, ids, shares)
		return
	}
	l.cutByRows(param, ids, shares)
}

// scatter deals ids that a hash spreads over the servers.
func (l *Layout) scatter(param int, ids []uint64, shares []Share) {
	if len(shares) == 1 {
		shares[0].Hi = len(ids)
		return
	}
	for i, id := range ids {
		s := l.Plan.ServerOf(l.variable[param], id)
		shares[s].At = append(shares[s].At, int32(i))
	}
}

// cutByRows finds where each block's ids begin and end.
func (l *Layout) cutByRows(param int, ids []uint64, shares []Share) {
	dim := l.Params[param].Dim()
	lo := 0
	for _, b := range l.Plan.BlocksOf(l.variable[param]) {
		hi, _ := slices.BinarySearch(ids, uint64((b.Offset+b.Size)/dim))
		shares[b.Server].add(lo, hi)
		lo = hi
	}
}

func (s *Share) add(lo, hi int) {
	switch {
	case lo == hi:
	case s.Len() == 0:
		s.Lo, s.Hi = lo, hi
	case s.Run() && s.Hi == lo:
		s.Hi = hi
	default:
		if s.Run() {
			s.list(s.Lo, s.Hi)
		}
		s.list(lo, hi)
	}
}

func (s *Share) list(lo, hi int) {
	for i := lo; i < hi; i++ {
		s.At = append(s.At, int32(i))
	}
}

// Foreign is the index of the first of ids, strictly increasing, of the embedding Params[param] that does not live on
// server s; -1 if all do.
func (l *Layout) Foreign(s, param int, ids []uint64) int {
	switch {
	case l.Plan.Servers == 1:
		return -1
	case l.Params[param].Height() == 0:
		return slices.IndexFunc(ids, func(id uint64) bool { return !l.Owns(s, param, id) })
	}
	dim, at := l.Params[param].Dim(), 0
	for _, b := range l.Plan.BlocksOf(l.variable[param]) {
		n, _ := slices.BinarySearch(ids[at:], uint64((b.Offset+b.Size)/dim))
		if n > 0 && b.Server != s {
			return at
		}
		at += n
	}
	if at < len(ids) {
		return at
	}
	return -1
}
