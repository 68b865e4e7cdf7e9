package strategy

import (
	"errors"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/files"
)

// Recovery has a job save checkpoints by itself, and go on from the newest when it is started again. The zero value has none saved.
//
// A checkpoint is a directory ckpt-<number> below Dir, made when it is begun and whole when it has a manifest.json. Every role begins
// from the whole one with the highest number, or from nothing where there is none; what a program gives to Restore or InitServer counts
// only then. The lowest worker that lives has one saved every Every, and when it stops. When the context of InitWorker or RunServer
// ends, as on SIGTERM, one is saved too before the role ends: by the worker in Fleet.Close, for a server by the lowest worker.
type Recovery struct {
	// Dir is where checkpoints go: a directory that all servers share, or all workers of a job without servers. While a job lives another
	// is refused there, by name (fleet.ErrTaken): it would go on from the first one's checkpoints.
	Dir string `json:"dir,omitempty"`
	// Every is the time between two checkpoints; 0 means 10m.
	Every Duration `json:"every,omitempty"`
	// Keep is how many stay, the newest first; 0 means 2. An older one goes when a new one is whole, unless it was pinned (fleet.Pin).
	Keep int `json:"keep,omitempty"`
}

// The defaults of a Recovery that has a Dir.
const (
	DefaultCheckpointEvery = Duration(10 * time.Minute)
	DefaultKeep            = 2
)

// withDefaults fills in what goes with a Dir.
func (r Recovery) withDefaults() Recovery {
	if r.Dir != "" {
		set(&r.Every, DefaultCheckpointEvery)
		set(&r.Keep, DefaultKeep)
	}
	return r
}

// check says what is wrong with it, or would be ignored.
func (r Recovery) check() error {
	var errs []error
	switch {
	case r.Dir == "" && r.Every != 0:
		errs = append(errs, fmt.Errorf("strategy: recovery: every is %v, but no dir says where checkpoints go; give both or none", r.Every))
	case r.Dir == "" && r.Keep != 0:
		errs = append(errs, fmt.Errorf("strategy: recovery: keep is %d, but no dir says where checkpoints go; give both or none", r.Keep))
	case r.Dir == "":
		return nil
	case r.Every > 0 && r.Every < leastEvery:
		errs = append(errs, fmt.Errorf("strategy: recovery: every is %v; it must be at least %v", r.Every, leastEvery))
	}
	if r.Keep < 0 {
		errs = append(errs, fmt.Errorf("strategy: recovery: keep is %d; it can't be negative", r.Keep))
	}
	if err := files.CheckLocal(r.Dir); err != nil {
		errs = append(errs, fmt.Errorf("strategy: recovery: dir: %w", err))
	}
	return errors.Join(errs...)
}
