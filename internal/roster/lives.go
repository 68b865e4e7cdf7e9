package roster

import (
	"slices"
	"time"
)

// lives remembers, on server 0, which life each of the last processes of a worker was given: a join that arrives twice,
// or late, begins one.
type lives map[int][]*life

type life struct {
	process uint64
	asked   time.Time // first
	number  uint32    // 0 while another process has the worker's place
}

// keepLives is how many processes of a worker are remembered: more than can have a join on its way.
const keepLives = 16

// of is the life of a worker's process, which has no number if the process was not heard of.
func (l lives) of(worker int, process uint64, now time.Time) *life {
	all := l[worker]
	if i := slices.IndexFunc(all, func(x *life) bool { return x.process == process }); i >= 0 {
		return all[i]
	}
	if len(all) == keepLives {
		all = slices.Delete(all, 0, 1)
	}
	asks := &life{process: process, asked: now}
	l[worker] = append(all, asks)
	return asks
}
