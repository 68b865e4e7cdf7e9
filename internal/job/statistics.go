package job

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/progress"
)

// statistics are values of frozen dense params that each worker computes of its own batches while it trains, such as
// the moving averages of batch norm. When workers meet, all take the mean, weighted by each worker's steps since they
// last met, so that they evaluate one model, which is also the one that is saved.
type statistics struct {
	apart bool // workers may have different values, which is the same on all; set by Minimize
	mu    sync.Mutex
	own   report
	said  int // how often progress was announced
}

// report is what a worker sends to a meeting.
type report struct {
	Of map[string]statistic // by name of the param
	// Loaded reports that it loaded weights since the last meeting: then its values count.
	Loaded bool
	// Met is the number of meetings before, of those that had values.
	Met int
	// Resumed reports that the values are a checkpoint's, and that the worker has begun nothing since. Meetings with
	// such values alone, which the job has when it begins again, change none.
	Resumed bool
}

// statistic is a param's values after Steps steps.
type statistic struct {
	Steps int
	W     []float32
}

// set stores the values after another step.
func (s *statistics) set(name string, w []float32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own.Resumed = false; s.own.Of == nil {
		s.own.Of = map[string]statistic{}
	}
	s.own.Of[name] = statistic{s.own.Of[name].Steps + 1, append(s.own.Of[name].W[:0], w...)}
}

// loaded notes a load.
func (s *statistics) loaded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own.Loaded = true
}

// gather is the backend's gather. If workers have statistics, it also takes the mean of them.
func (s *statistics) gather(ctx context.Context, b backend.Trainer, call string, data []byte) ([][]byte, error) {
	if !s.apart {
		return b.Gather(ctx, call, data)
	}
	mine := s.report()
	all, err := b.Gather(ctx, call, mine.pack(data))
	if err != nil {
		s.giveBack(mine)
		return nil, err
	}
	return all, s.take(b, mine, all)
}

// ask is the backend's Ask. Workers that are told to measure bring their statistics, and take the mean of them.
func (s *statistics) ask(ctx context.Context, b backend.Trainer, at epoch.At) (*epoch.Told, error) {
	if !s.apart || at.Begins {
		return b.Ask(ctx, at)
	}
	mine := s.report()
	at.Stands = mine.pack(at.Stands)
	told, err := b.Ask(ctx, at)
	if err != nil || told.Do != epoch.Measure {
		mine.Loaded = mine.Loaded && (err != nil || told.Do == "") // else others have what was loaded
		s.giveBack(mine)
		return told, err
	}
	return told, s.take(b, mine, told.Stands)
}

// take takes the mean of what all have brought before their data, which stay in all.
func (s *statistics) take(b backend.Trainer, mine report, all [][]byte) (err error) {
	reports := make([]report, len(all))
	for i := range all {
		if all[i], err = reports[i].unpack(all[i]); err != nil {
			return fmt.Errorf("cannot decode statistics of worker %d of %d: %w; do all run the same build?", i,
				len(all), err)
		}
	}
	if !slices.ContainsFunc(reports, report.has) {
		s.giveBack(mine)
		return nil
	}
	for name, w := range means(reports) {
		err = errors.Join(err, b.SetDense(name, w))
	}
	s.met(reports)
	return err
}

// has reports whether a worker has computed or loaded values since it began.
func (r report) has() bool { return !r.Resumed && (r.Loaded || len(r.Of) > 0) }

// report returns this worker's values and resets them.
func (s *statistics) report() (mine report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine, s.own = s.own, report{Met: s.own.Met, Resumed: s.own.Resumed}
	return mine
}

// met counts a meeting. Values in positions that are older don't count from then on.
func (s *statistics) met(reports []report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range reports {
		s.own.Met = max(s.own.Met, r.Met+1)
	}
}

// begun notes that this worker has begun to train or to evaluate.
func (s *statistics) begun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own.Resumed = false
}

// announced notes that the program has announced progress: by the second time, in a job that goes on, it has begun.
func (s *statistics) announced() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said++
	s.own.Resumed = s.own.Resumed && s.said < 2
}

// meetings returns the number of meetings, for a checkpoint.
func (s *statistics) meetings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own.Met
}

// kept returns this worker's values for its position in the data, so that a job that goes on from it has those of every
// worker.
func (s *statistics) kept() progress.Packed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.own.Of) == 0 {
		return ""
	}
	return progress.Packed(s.own.pack(nil))
}

// resume begins with the values in the position from which this worker goes on, unless workers have met since: then all
// have those of the checkpoint. Of several threads' positions the latest counts.
func (s *statistics) resume(b backend.Trainer) error {
	var latest report
	steps := 0
	for _, said := range b.Reading().Frozen() {
		var r report
		if _, err := r.unpack([]byte(said)); err != nil {
			return fmt.Errorf("frozen values in the checkpoint's position of this worker: %w", err)
		}
		its := 0
		for _, is := range r.Of {
			its += is.Steps
		}
		if r.Met >= b.Progress().Meetings && its > steps {
			latest, steps = r, its
		}
	}
	latest.Met, latest.Resumed = max(latest.Met, b.Progress().Meetings), steps > 0
	s.mu.Lock()
	s.own = latest
	s.mu.Unlock()
	var err error
	for name, is := range latest.Of {
		err = errors.Join(err, b.SetDense(name, is.W))
	}
	return err
}

// giveBack restores a report that was not sent. Values that were set since are newer.
func (s *statistics) giveBack(mine report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newer := s.own
	if s.own = mine; s.own.Of == nil {
		s.own.Of = newer.Of
	}
	s.own.Loaded, s.own.Resumed = mine.Loaded || newer.Loaded, mine.Resumed && newer.Resumed
	for name, is := range newer.Of {
		s.own.Of[name] = statistic{mine.Of[name].Steps + is.Steps, is.W}
	}
}

// pack encodes a report before a worker's data, in order, so that a repeated call sends the same bytes: u32 size of
// what follows before the data, u8 flags (1 loaded, 2 resumed), u32 meetings, and for each param u16 size of its name,
// its name, u32 steps, u32 number of its values, and they.
func (r *report) pack(data []byte) []byte {
	le, b := binary.LittleEndian, make([]byte, 5, 64)
	if r.Loaded {
		b[4] |= 1
	}
	if r.Resumed {
		b[4] |= 2
	}
	b = le.AppendUint32(b, uint32(r.Met))
	for _, name := range slices.Sorted(maps.Keys(r.Of)) {
		of := r.Of[name]
		b = append(le.AppendUint16(b, uint16(len(name))), name...)
		b = le.AppendUint32(le.AppendUint32(b, uint32(of.Steps)), uint32(len(of.W)))
		for _, w := range of.W {
			b = le.AppendUint32(b, math.Float32bits(w))
		}
	}
	le.PutUint32(b, uint32(len(b)-4))
	return append(b, data...)
}

// unpack decodes what pack has written, and returns the data; nil for a worker that is gone, and empty for one whose
// data are no longer kept.
func (r *report) unpack(said []byte) (data []byte, err error) {
	if len(said) == 0 { // a barrier that the others completed long ago
		return said, nil
	}
	at := said
	take := func(n uint64) (b []byte) {
		if n > uint64(len(at)) {
			at, err = nil, errors.New("it is cut off")
			return make([]byte, 4)
		}
		b, at = at[:n], at[n:]
		return b
	}
	le := binary.LittleEndian
	at = take(uint64(le.Uint32(take(4))))
	data = said[min(len(said), 4+len(at)):]
	r.Of = map[string]statistic{}
	flags := take(1)[0]
	r.Loaded, r.Resumed, r.Met = flags&1 != 0, flags&2 != 0, int(le.Uint32(take(4)))
	for len(at) > 0 && err == nil {
		name := string(take(uint64(le.Uint16(take(2)))))
		of := statistic{Steps: int(le.Uint32(take(4)))}
		b := take(4 * uint64(le.Uint32(take(4))))
		for ; err == nil && len(b) > 0; b = b[4:] {
			of.W = append(of.W, math.Float32frombits(le.Uint32(b)))
		}
		r.Of[name] = of
	}
	return data, err
}

// means are the values with which all go on, by name.
func means(reports []report) map[string][]float32 {
	sums, steps := map[string][]float64{}, map[string]int{}
	for _, r := range reports {
		if r.Loaded {
			return nil
		}
		for name, s := range r.Of {
			if sums[name] == nil {
				sums[name] = make([]float64, len(s.W))
			}
			for i := range min(len(s.W), len(sums[name])) {
				sums[name][i] += float64(s.Steps) * float64(s.W[i])
			}
			steps[name] += s.Steps
		}
	}
	all := map[string][]float32{}
	for name, sum := range sums {
		all[name] = make([]float32, len(sum))
		for i := range sum {
			all[name][i] = float32(sum[i] / float64(steps[name]))
		}
	}
	return all
}
