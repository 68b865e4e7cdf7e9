package roster

import (
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
)

// Lives numbers, on server 0, the processes of each worker. It keeps the numbers of each worker's last processes, so
// that a repeated or late join begins no second life.
type Lives struct {
	hope    *Hope
	members members
	given   map[int][]*life // by worker
}

type life struct {
	process uint64
	asked   time.Time // when it first asked
	number  uint32    // 0 while another process has the worker's place
}

// keepLives is the number of processes that are kept for each worker: more than can have a join on its way.
const keepLives = 16

// Number returns the life of a worker's process: a new one for an unknown process. A process that joins while another
// is in the worker's place is asked to wait until that one misses heartbeats; if that one continues to show life, the
// new process is refused for good: it is of another job at the same addresses, or was started twice.
func (l *Lives) Number(worker int, process uint64, now time.Time) (uint32, error) {
	m, is := &l.members[worker], l.of(worker, process, now)
	if is.number == 0 && m.state == alive && !m.fenced && m.ends == "" && l.hope.hears(m, now) {
		status, what := wire.StatusNotReady, "if it is gone, wait a moment"
		if m.seen.Sub(is.asked) >= l.hope.grace() {
			status, what = wire.StatusRefused, "start no worker twice, and give each job addresses and a "+
				"FLEET_CLUSTER of its own"
		}
		return 0, wire.Refuse(status, "worker %d is another process, which was heard %v ago: %s", worker,
			now.Sub(m.seen).Round(time.Millisecond), what)
	}
	if is.number == 0 {
		is.number = m.life + 1
	}
	return is.number, nil
}

// Recall restores the number of a life.
func (l *Lives) Recall(is SavedLife, now time.Time) {
	l.of(is.Worker, is.Process, now).number = is.Number
}

// saved returns the numbered lives.
func (l *Lives) saved() (all []SavedLife) {
	for w := range l.members {
		for _, is := range l.given[w] {
			if is.number > 0 {
				all = append(all, SavedLife{w, is.process, is.number})
			}
		}
	}
	return all
}

// of returns the life of a worker's process, without a number if the process is new.
func (l *Lives) of(worker int, process uint64, now time.Time) *life {
	all := l.given[worker]
	if i := slices.IndexFunc(all, func(x *life) bool { return x.process == process }); i >= 0 {
		return all[i]
	}
	if len(all) == keepLives {
		all = slices.Delete(all, 0, 1)
	}
	asks := &life{process: process, asked: now}
	l.given[worker] = append(all, asks)
	return asks
}

// SavedLife is the number of a process's life.
type SavedLife struct {
	Worker  int    `json:"worker"`
	Process uint64 `json:"process"`
	Number  uint32 `json:"number"`
}
