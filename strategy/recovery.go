package strategy

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/files"
)

// Recovery makes a job save checkpoints automatically, and resume from the newest when it is restarted. The zero value
// saves none.
//
// A checkpoint is a directory ckpt-<number> below Dir, created when the save begins and complete once it has a
// manifest.json. Every role begins from the complete checkpoint with the highest number. Only if there is none do the
// directories that the program passes to Restore or InitServer count. The lowest live worker requests a checkpoint at
// intervals of Every, and when it stops. When the context of InitWorker or RunServer ends, as on SIGTERM, a checkpoint
// is also saved before the role ends: by a worker in Fleet.Close, for a server by the lowest worker.
//
// A checkpoint records each worker's position in its data, after the last push that its weights contain. A restarted
// job continues there, even in the middle of an epoch: the training loops of package nn do so automatically, other
// loops as described at Fleet.Position of package fleet.
type Recovery struct {
	// Dir is the directory of the checkpoints ckpt-000001, …. All servers must share it, or all workers of a job
	// without servers. While a job runs, another job is refused there (fleet.ErrTaken), since it would resume from the
	// first job's checkpoints.
	Dir string `json:"dir,omitempty"`
	// Every is the time between two checkpoints; 0 means 10m.
	Every Duration `json:"every,omitempty"`
	// Keep is how many of the newest checkpoints to keep; 0 means 2. Older ones are removed when a new one is complete,
	// unless they are pinned (checkpoints.Pin).
	Keep int `json:"keep,omitempty"`
	// Deltas is how many incremental checkpoints follow each full one; 0 makes every checkpoint full. An incremental
	// checkpoint holds the dense weights and only the rows that changed since the previous checkpoint. It suits tables
	// of which a small part changes between two checkpoints: its time and size are in proportion to that part. Resuming
	// reads the full checkpoint and all incremental ones since. A checkpoint is kept, beyond Keep, as long as a later
	// one is based on it. A full checkpoint is saved early when the incremental ones together have half the bytes of
	// the last full one, after LoadModel, after a Shrink by scores or of many rows, and after the job was restarted.
	Deltas int `json:"deltas,omitempty"`
	// Journal makes each server record its updates between checkpoints on a local disk, so that a server that is killed
	// and restarted continues where it was: no acknowledged update is lost, and the other roles wait for the server.
	// The value says which failures the journal survives. Empty means no journal: when a server dies, every role goes
	// back to the last checkpoint. A journal larger than 1 GiB, and than twice the server's part of a checkpoint,
	// triggers a checkpoint before Every has passed.
	Journal Journal `json:"journal,omitempty"`
	// JournalDir is the directory of a server's journal, on a local disk or on a volume that is reattached to the
	// restarted server. Several servers of a job may share it; two jobs may not.
	JournalDir string `json:"journal_dir,omitempty"`
	// RestartTimeout is how long other roles wait for a server with a journal to restart. In modes async, half_async
	// and geo, when no other worker is left, servers wait as long for workers that were asked to end, or that died
	// without calling Close; then the job ends. A program that fails should therefore call Close. 0 means 5m.
	RestartTimeout Duration `json:"restart_timeout,omitempty"`
	// WorkerLost says what happens when a worker dies in modes sync and ssp, whose workers depend on each other's
	// steps; in other modes the worker can be restarted alone. Empty means WorkerBack.
	WorkerLost WorkerLost `json:"worker_lost,omitempty"`
}

// Journal says which failures a server's journal survives.
type Journal string

const (
	// JournalProcess survives the death of the server's process: records are handed to the operating system. After the
	// machine restarts, the journal is not used.
	JournalProcess Journal = "process"
	// JournalMachine survives a crash of the machine: an update counts when its record is on disk.
	JournalMachine Journal = "machine"
)

// WorkerLost says what happens after the death of a worker.
type WorkerLost string

const (
	// WorkerGoOn lets the others go on without it, as in a job without a Dir. The samples that it had not trained are
	// left out.
	WorkerGoOn WorkerLost = "go_on"
	// WorkerBack makes every role end and the job resume from its last checkpoint with all workers, so that each sample
	// counts once.
	WorkerBack WorkerLost = "back"
)

// GoesBack says whether the death of a worker sends every role of a job with servers back to the last checkpoint.
func (s Strategy) GoesBack() bool {
	inStep := s.Mode == ModeSync || s.Mode == ModeSSP
	return inStep && s.Recovery.Dir != "" && s.Recovery.WorkerLost != WorkerGoOn
}

// ServerTimeout is how long a server may be unreachable before others give up: WorkerTimeout, or RestartTimeout if that
// is longer and there is a journal.
func (s Strategy) ServerTimeout() Duration {
	if s.Recovery.Journal == "" {
		return s.WorkerTimeout
	}
	return max(s.WorkerTimeout, s.Recovery.RestartTimeout)
}

// WorkersReturn is how long servers wait for workers that were asked to end, or killed, when no other worker is left:
// as long as others wait for a server with a journal. It is 0 if no worker could go on: in modes sync and ssp, whose
// jobs go back to a checkpoint, and without a checkpoint or a journal.
func (s Strategy) WorkersReturn() Duration {
	inStep := s.Mode == ModeSync || s.Mode == ModeSSP
	if inStep || s.Recovery.Dir == "" && s.Recovery.Journal == "" {
		return 0
	}
	return max(s.WorkerTimeout, cmp.Or(s.Recovery.RestartTimeout, restartTimeout))
}

// LongestWait is how long others wait for a worker that is alive and computing, for example evaluating alone: 16
// WaitTimeouts.
func (s Strategy) LongestWait() Duration { return 16 * s.WaitTimeout }

// restartTimeout is what RestartTimeout is left out for.
const restartTimeout = Duration(5 * time.Minute)

// withDefaults fills in what goes with a Dir.
func (r Recovery) withDefaults() Recovery {
	if r.Dir != "" {
		set(&r.Every, Duration(10*time.Minute))
		set(&r.Keep, 2)
	}
	if r.Journal != "" {
		set(&r.RestartTimeout, restartTimeout)
	}
	return r
}

// check says what is wrong with it, or would be ignored.
func (r Recovery) check() error {
	errs := r.checkJournal()
	switch {
	case r.Dir == "" && r.Every != 0:
		errs = append(errs, fmt.Errorf("strategy: recovery: every is %v, but no dir says where checkpoints go; give "+
			"both or none", r.Every))
	case r.Dir == "" && r.Keep != 0:
		errs = append(errs, fmt.Errorf("strategy: recovery: keep is %d, but no dir says where checkpoints go; give "+
			"both or none", r.Keep))
	case r.Dir == "" && r.Deltas != 0:
		errs = append(errs,
			fmt.Errorf("strategy: recovery: deltas is %d, but no dir says where checkpoints go; give both or none",
				r.Deltas))
	case r.Dir == "":
		return errors.Join(errs...)
	case r.Every > 0 && r.Every < leastEvery:
		errs = append(errs, fmt.Errorf("strategy: recovery: every is %v; it must be at least %v", r.Every, leastEvery))
	}
	if r.Keep < 0 {
		errs = append(errs, fmt.Errorf("strategy: recovery: keep is %d; it can't be negative", r.Keep))
	}
	if r.Deltas < 0 {
		errs = append(errs, fmt.Errorf("strategy: recovery: deltas is %d; it can't be negative", r.Deltas))
	}
	if err := files.Check(r.Dir); err != nil {
		errs = append(errs, fmt.Errorf("strategy: recovery: dir: %w", err))
	}
	return errors.Join(errs...)
}

// checkJournal says what is wrong with the fields of a journal, and what follows a worker's death.
func (r Recovery) checkJournal() (errs []error) {
	given := r.JournalDir != "" || r.RestartTimeout != 0
	switch {
	case r.Journal == "" && given:
		errs = append(errs, errors.New("strategy: recovery: journal_dir or restart_timeout is set, but no journal; "+
			"give all or none"))
	case r.Journal != "" && r.JournalDir == "":
		errs = append(errs, errors.New("strategy: recovery: a journal needs a journal_dir: a directory of a local "+
			"disk of each server"))
	case r.Journal != "" && r.Dir == "":
		errs = append(errs, errors.New("strategy: recovery: a journal begins from checkpoints, else it would grow "+
			"without end: give a dir"))
	}
	if r.JournalDir != "" {
		if err := files.CheckLocal(r.JournalDir); err != nil {
			errs = append(errs, fmt.Errorf("strategy: recovery: journal_dir: %w", err))
		}
	}
	if r.WorkerLost != "" && r.Dir == "" {
		errs = append(errs, fmt.Errorf("strategy: recovery: worker_lost is %s, but no dir says where checkpoints go; "+
			"give both or none", r.WorkerLost))
	}
	return append(errs, oneOf("recovery: journal", r.Journal, "", JournalProcess, JournalMachine),
		oneOf("recovery: worker_lost", r.WorkerLost, "", WorkerGoOn, WorkerBack))
}
