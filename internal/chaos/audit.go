package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/strategy"
)

// audit compares the weights of a counting job with the diary of its processes.
type audit struct {
	plan
	entries []entry
	outcome
}

// life is what the diary and the weights show of a worker's process.
type life struct {
	worker      int
	id          uint64
	sent, acked int64
	stopped     bool  // it has left the job in order
	back        bool  // the job has gone back after it, to a checkpoint or its beginning
	saved       int64 // its steps in the last checkpoint
	least       int64 // its steps that must be in the weights
	in          span  // its pushes that are in the weights, by its rows
}

// span is the lowest and the highest of numbers that should be equal.
type span struct{ low, high float32 }

func spanOf(all []float32) span {
	if len(all) == 0 {
		return span{}
	}
	return span{slices.Min(all), slices.Max(all)}
}

// wrong returns everything that is wrong.
func (a audit) wrong() (bad []string) {
	text, err := os.ReadFile(filepath.Join(a.dir, "counts.json"))
	var got counts
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil {
		return []string{"no worker says what the weights are: " + err.Error()}
	}
	lives := a.lives()
	for id, values := range rowsByLife(got.Rows) {
		l := lives[id]
		if l == nil {
			bad = append(bad, fmt.Sprintf("the weights have rows of life %d, which has trained nothing", id))
			continue
		}
		l.in = spanOf(values)
	}
	for _, l := range lives {
		bad = append(bad, a.judge(l)...)
	}
	bad = append(bad, a.sums(got.Dense, lives)...)
	bad = append(bad, a.samples(lives)...)
	if back := a.wentBack(lives); back != "" && !a.mayGoBack(a.struck) {
		bad = append(bad, "BACK: "+back)
	}
	if a.level.saves {
		if text := lastSaved(filepath.Join(a.dir, "checkpoints"), epochs); text != "" {
			bad = append(bad, text)
		}
	}
	return bad
}

func (l *life) String() string { return fmt.Sprintf("worker %d's life %d", l.worker, l.id) }

// rowsByLife returns the weights of each life's rows. A row that no push has reached has 0: a life that ended during
// its first push may have rows on one server only.
func rowsByLife(rows map[uint64]float32) map[uint64][]float32 {
	all := map[uint64][]float32{}
	for id, w := range rows {
		life := id &^ (copies - 1)
		if all[life] == nil {
			all[life] = make([]float32, copies)
		}
		all[life][id-life] = w
	}
	return all
}

// lives returns the workers' lives, by id. The acknowledged steps of a life must be in the weights. If all roles went
// back after it, only the steps acknowledged when the last checkpoint before was requested must be; without
// checkpoints, none.
func (a audit) lives() map[uint64]*life {
	lives := map[uint64]*life{}
	asked := map[uint64]int64{} // acknowledged when the last checkpoint was requested, by life
	asks := a.asked()
	for _, e := range a.entries {
		if !asks.IsZero() && e.At.After(asks) { // a process that is asked to end has everything acknowledged saved
			asks = time.Time{}
			for _, l := range lives {
				l.saved = l.acked
			}
		}
		if a.goesBack(e) {
			for _, l := range lives {
				l.goBack(a.level)
			}
		}
		if e.Life == 0 {
			continue
		}
		l := lives[e.Life]
		if l == nil {
			l = &life{id: e.Life, worker: int(e.Life >> 4 & 15)}
			lives[e.Life] = l
		}
		l.sent, l.acked = max(l.sent, e.Sent), max(l.acked, e.Acked)
		l.stopped = l.stopped || e.What == stops
		switch e.What {
		case saves:
			clear(asked)
			for id, l := range lives {
				asked[id] = l.acked
			}
		case saved:
			for id, n := range asked {
				lives[id].saved = max(lives[id].saved, n)
			}
		}
	}
	for _, l := range lives {
		switch {
		case l.back:
		case l.stopped:
			l.least = l.sent
		default:
			l.least = l.acked
		}
	}
	return lives
}

// goesBack reports whether an entry shows that all roles go back: with journals, some role has ended with ErrWentBack;
// without, a server begins.
func (a audit) goesBack(e entry) bool {
	if a.level.keeps {
		return e.What == back
	}
	return e.What == begins && e.Life == 0
}

// wentBack describes what a life has lost because all roles went back.
func (a audit) wentBack(lives map[uint64]*life) string {
	for _, l := range lives {
		if l.back && l.acked > l.least {
			return fmt.Sprintf("all went back to a checkpoint with %d of %d steps of %v, though servers keep them",
				l.least, l.acked, l)
		}
	}
	return ""
}

// asked returns when a process was asked to end, if nothing else was done that could have kept the job from saving a
// checkpoint then.
func (a audit) asked() (at time.Time) {
	if len(a.struck) == 1 && a.struck[0].do == term && a.level.saves {
		at = a.struck[0].at
	}
	return at
}

// goBack records that all roles go back.
func (l *life) goBack(at level) {
	switch {
	case l.back:
	case at.saves:
		l.least = l.saved
	default:
		l.sent, l.acked = 0, 0 // none of its steps may be left
	}
	l.back = true
}

// each returns what a step adds to each row of its life, at least and at most: 2, and in sync 1 if both workers were in
// the round.
func (a audit) each() (each, most float32) {
	switch {
	case a.mode != strategy.ModeSync:
		return 2, 2
	case a.stay():
		return 1, 1
	}
	return 1, 2
}

// stay reports whether each worker had one life.
func (a audit) stay() bool { return a.level.keeps && !taken(a.struck) }

// judge compares a life with its rows. In geo, an exchange that was cut off by its worker's death may have left some.
func (a audit) judge(l *life) (bad []string) {
	each, most := a.each()
	if a.mode == strategy.ModeGeo && !l.stopped {
		l.least = 0
	}
	if l.in.high > most*float32(l.sent) {
		bad = append(bad, fmt.Sprintf("DOUBLED: %v has made %d steps, and its rows have %v", l, l.sent, l.in))
	}
	if l.in.low < each*float32(l.least) {
		bad = append(bad, fmt.Sprintf("LOST: of %v %d steps must be in the weights, and its rows have %v", l, l.least,
			l.in))
	}
	torn, differ := float32(l.sent-l.acked), l.in.high-l.in.low
	if l.stopped {
		torn = 0
	}
	if differ > most*torn+float32(a.torn()) && (a.mode != strategy.ModeGeo || l.stopped) {
		bad = append(bad, fmt.Sprintf("MIXED: rows of %v differ, which had %d steps unanswered: %v", l, int(torn),
			l.in))
	}
	return bad
}

// torn returns how many rounds have the last gradient of a dead worker on only some servers, by server 0's log.
func (a audit) torn() int {
	return strings.Count(logs(a.dir), "the last gradient of a dead worker is in the weights of some servers")
}

// samples compares all lives of a worker with its samples, each of which counts once. Samples under way when a life
// ended may count twice, and in geo not at all.
func (a audit) samples(lives map[uint64]*life) (bad []string) {
	const all = epochs * steps
	each, most := a.each()
	whole := a.mode != strategy.ModeGeo
	for worker := range workers {
		var rows span
		repeated := 0
		for _, l := range lives {
			if l.worker != worker {
				continue
			}
			rows.low, rows.high = rows.low+l.in.low, rows.high+l.in.high
			if !l.stopped {
				repeated += onTheWay
			}
		}
		if rows.low < each*all && whole {
			bad = append(bad, fmt.Sprintf("MISSED: worker %d has %d samples, and the rows of its lives %v", worker, all,
				rows))
		}
		if rows.high > most*float32(all+repeated) {
			bad = append(bad, fmt.Sprintf("REPEATED: worker %d has %d samples, and the rows of its lives %v", worker,
				all, rows))
		}
	}
	return bad
}

// onTheWay is the most samples of a life that may be under way: in async one step may wait while another is sent.
const onTheWay = 2

// sums compares the dense weights, which all steps change, with the rows of all lives.
func (a audit) sums(dense []float32, lives map[uint64]*life) (bad []string) {
	parts := make([][]float32, 3)
	for i, w := range dense {
		parts[i%3] = append(parts[i%3], w)
	}
	var all span
	for worker := range workers {
		var rows span
		for _, l := range lives {
			if l.worker == worker {
				rows.low += l.in.low
				rows.high += l.in.high
			}
		}
		all.low, all.high = all.low+rows.low, all.high+rows.high
		if got := spanOf(parts[worker]); got.low < rows.low || got.high > rows.high {
			bad = append(bad, fmt.Sprintf("MIXED: dense weights of worker %d have %v, the rows of its lives %v", worker,
				got, rows))
		}
	}
	if got := spanOf(parts[2]); 2*got.low < all.low || 2*got.high > all.high {
		bad = append(bad, fmt.Sprintf("MIXED: dense weights of all have %v, the rows of all lives %v", got, all))
	}
	return bad
}
