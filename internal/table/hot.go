package table

import (
	"cmp"
	"slices"
)

// hot keeps the most pushed rows of a shard. Every row counts its pushes, so that nothing is estimated: a row is
// considered after each hotEvery pushes, and replaces the coldest if it has more. A shard keeps as many as a table may
// be asked for, since all of the hottest may be in one shard.
type hot struct {
	ids   [hotLen]hotID
	used  int
	floor uint32 // a row with more pushes is added
}

type hotID struct {
	id     uint64
	pushes uint32
}

const (
	hotEvery = 16
	hotLen   = 32
)

// update adds a row, or updates its pushes.
func (x *hot) update(id uint64, pushes uint32) {
	at := x.find(id)
	switch {
	case at < x.used:
	case pushes < hotEvery || pushes <= x.floor:
		return
	case x.used < hotLen:
		x.used++
	default:
		at = x.coldest()
	}
	x.ids[at] = hotID{id, pushes}
	if x.used == hotLen {
		x.floor = x.ids[x.coldest()].pushes
	}
}

// find is the place of an id, or the first unused place.
func (x *hot) find(id uint64) int {
	at := 0
	for at < x.used && x.ids[at].id != id {
		at++
	}
	return at
}

func (x *hot) coldest() int {
	at := 0
	for i, h := range x.ids {
		if h.pushes < x.ids[at].pushes {
			at = i
		}
	}
	return at
}

func (x *hot) forget(id uint64) {
	if at := x.find(id); at < x.used {
		x.used--
		x.ids[at], x.floor = x.ids[x.used], 0
	}
}

// Hot is a row that is pushed often.
type Hot struct {
	ID      uint64
	Updates uint32
}

// Hot returns the ids of the n rows that were pushed most, at most 32, the most pushed first. A row counts from its
// 16th push on, and its place is right to 16 pushes.
func (t *Sparse) Hot(n int) []Hot {
	var all []Hot
	for i := range t.shards {
		all = t.shards[i].appendHot(&t.kind, all)
	}
	slices.SortFunc(all, func(a, b Hot) int {
		return cmp.Or(cmp.Compare(b.Updates, a.Updates),
			cmp.Compare(a.ID, b.ID))
	})
	return all[:max(min(n, hotLen, len(all)), 0)]
}

func (s *shard) appendHot(k *kind, all []Hot) []Hot {
	s.Lock()
	defer s.Unlock()
	for _, x := range s.hot.ids[:s.hot.used] {
		if _, h := s.index.find(&s.arena, k.hash(x.id), x.id); h != nil {
			all = append(all, Hot{x.id, h.updates})
		}
	}
	return all
}
