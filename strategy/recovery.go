package strategy

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/files"
)

// Recovery has a job save checkpoints by itself, and go on from the newest when it is started again. The zero value has
// none saved.
//
// A checkpoint is a directory ckpt-<number> below Dir, made when it is begun and whole when it has a manifest.json.
// Every role begins from the whole one with the highest number, or from nothing where there is none; what a program
// gives to Restore or InitServer counts only then. The lowest worker that lives has one saved every Every, and when it
// stops. When the context of InitWorker or RunServer ends, as on SIGTERM, one is saved too before the role ends: by the
// worker in Fleet.Close, for a server by the lowest worker.
//
// A checkpoint has each worker's position in its data, after the last push that is in its weights. A job that is
// started again goes on there, also in the middle of an epoch: training loops of package nn by themselves, others as
// Fleet.Position of package fleet says.
type Recovery struct {
	// Dir is where checkpoints ckpt-000001, … go: a directory that all servers share, or all workers of a job without
	// servers. While a job lives another is refused there, by name (fleet.ErrTaken): it would go on from the first
	// one's checkpoints.
	Dir string `json:"dir,omitempty"`
	// Every is the time between two checkpoints; 0 means 10m.
	Every Duration `json:"every,omitempty"`
	// Keep is how many stay, the newest first; 0 means 2. An older one goes when a new one is whole, unless it was
	// pinned (checkpoints.Pin).
	Keep int `json:"keep,omitempty"`
	// Deltas is how many checkpoints behind a whole one have, besides the dense weights, only the rows that have
	// changed since the one before, and are based on it; 0 has every checkpoint whole. It is for tables of which a
	// small part changes between two checkpoints: these take time and room as that part does, and going on from one
	// reads the whole one and all since. What a checkpoint is based on stays as long as it does, beyond Keep. The next
	// is whole sooner when the checkpoints based on it have half as many bytes as the last whole one, behind Shrink and
	// LoadModel, and when the job was started again.
	Deltas int `json:"deltas,omitempty"`
	// Journal has each server record on a local disk what it does between checkpoints, so that a server that is killed
	// and started again goes on where it was: nothing that was answered is lost, and the others wait for it. What the
	// journal survives is what this says; empty is no journal, and then every role goes back to the last checkpoint
	// when a server is lost. A journal that has grown beyond 1 GiB, and beyond twice the server's part of a checkpoint,
	// has one saved before Every is over.
	Journal Journal `json:"journal,omitempty"`
	// JournalDir is where a server's journal is: a directory of a local disk, or of a volume that comes back with the
	// server. Several servers of a job may share it; two jobs may not.
	JournalDir string `json:"journal_dir,omitempty"`
	// RestartTimeout is how long the others wait for a server that has a journal. In the modes async, half_async and
	// geo servers wait as long, when no other worker is left, for workers that were asked to end or whose processes
	// ended without Close; then the job ends. So a program that fails should call Close. 0 means 5m.
	RestartTimeout Duration `json:"restart_timeout,omitempty"`
	// WorkerLost says what follows the death of a worker in the modes sync and ssp, whose workers go in step; elsewhere
	// it can be started again alone. Empty is WorkerBack.
	WorkerLost WorkerLost `json:"worker_lost,omitempty"`
}

// Journal says what a server's journal survives.
type Journal string

const (
	// JournalProcess survives the server's process: records are the operating system's. It is good for nothing once the
	// machine was started again, and is not used then.
	JournalProcess Journal = "process"
	// JournalMachine survives the machine: an update counts when its record is on the disk.
	JournalMachine Journal = "machine"
)

// WorkerLost says what follows the death of a worker.
type WorkerLost string

const (
	// WorkerGoOn has the others go on without it, which is also what follows in a job without a Dir. What it had not
	// trained is short then.
	WorkerGoOn WorkerLost = "go_on"
	// WorkerBack has every role end, and the job go on from its last checkpoint with all workers, so that each sample
	// counts once.
	WorkerBack WorkerLost = "back"
)

// GoesBack says whether the death of a worker sends every role of a job with servers back to the last checkpoint.
func (s Strategy) GoesBack() bool {
	inStep := s.Mode == ModeSync || s.Mode == ModeSSP
	return inStep && s.Recovery.Dir != "" && s.Recovery.WorkerLost != WorkerGoOn
}

// ServerTimeout is how long a server may be away before the others give up: WorkerTimeout, or with a journal
// RestartTimeout if that is longer.
func (s Strategy) ServerTimeout() Duration {
	if s.Recovery.Journal == "" {
		return s.WorkerTimeout
	}
	return max(s.WorkerTimeout, s.Recovery.RestartTimeout)
}

// WorkersReturn is how long servers wait for workers that were asked to end, or killed, where no other is left: as long
// as others would for a server with a journal. It is 0 where none could go on: in the modes sync and ssp, whose jobs go
// back, and without a checkpoint or a journal.
func (s Strategy) WorkersReturn() Duration {
	inStep := s.Mode == ModeSync || s.Mode == ModeSSP
	if inStep || s.Recovery.Dir == "" && s.Recovery.Journal == "" {
		return 0
	}
	return max(s.WorkerTimeout, cmp.Or(s.Recovery.RestartTimeout, DefaultRestartTimeout))
}

// LongestWait is how long the others wait for a worker that lives and computes, such as one that evaluates by itself:
// 16 WaitTimeouts.
func (s Strategy) LongestWait() Duration { return 16 * s.WaitTimeout }

// The defaults of a Recovery that has a Dir.
const (
	DefaultCheckpointEvery = Duration(10 * time.Minute)
	DefaultKeep            = 2
	DefaultRestartTimeout  = Duration(5 * time.Minute)
)

// withDefaults fills in what goes with a Dir.
func (r Recovery) withDefaults() Recovery {
	if r.Dir != "" {
		set(&r.Every, DefaultCheckpointEvery)
		set(&r.Keep, DefaultKeep)
	}
	if r.Journal != "" {
		set(&r.RestartTimeout, DefaultRestartTimeout)
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
			"give both or none",
			r.WorkerLost))
	}
	return append(errs, oneOf("recovery: journal", r.Journal, []Journal{"", JournalProcess, JournalMachine}),
		oneOf("recovery: worker_lost", r.WorkerLost, []WorkerLost{"", WorkerGoOn, WorkerBack}))
}
