package roster

import "slices"

// lives remembers, on server 0, which life each of the last processes of a worker was given: a join that arrives twice, or late,
// begins one.
type lives map[int][]life

type life struct {
	process uint64
	number  uint32
}

// keepLives is how many processes of a worker are remembered: more than can have a join on its way.
const keepLives = 16

// of is the life of a worker's process, next if it has none yet.
func (l lives) of(worker int, process uint64, next uint32) uint32 {
	all := l[worker]
	if i := slices.IndexFunc(all, func(x life) bool { return x.process == process }); i >= 0 {
		return all[i].number
	}
	if len(all) == keepLives {
		all = slices.Delete(all, 0, 1)
	}
	l[worker] = append(all, life{process, next})
	return next
}
