package observe

import (
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/mistyped"
)

// Observer tells of one role of this process what the environment asks for.
type Observer struct {
	Log      *slog.Logger // whose warnings are kept
	Warnings *Warnings
	Pulses   awake.Pulses // of the role's loops
	Board    *Board       // nil without FLEET_HEALTH
	Page     *Page        // nil without FLEET_METRICS

	mu    sync.Mutex
	leave func()
}

// FromEnv returns what FLEET_LOG, FLEET_HEALTH and FLEET_METRICS ask for; a log that is not nil wins over the first. A
// variable that is probably a mistyped one of gofleet's is an error.
func FromEnv(log *slog.Logger) (*Observer, error) {
	var err error
	if log == nil {
		if log, err = logger(); err != nil {
			return nil, err
		}
	}
	if err := checkVariables(log); err != nil {
		return nil, err
	}
	board, err := openAt("FLEET_HEALTH", func(addr string) (*Board, error) { return OpenBoard(addr, log) })
	if err != nil {
		return nil, err
	}
	page, err := openAt("FLEET_METRICS", func(addr string) (*Page, error) {
		return Open(addr, os.Getenv("FLEET_UI_TOKEN"), log)
	})
	if err != nil {
		return nil, err
	}
	warnings := new(Warnings)
	return &Observer{Log: keep(log, warnings), Warnings: warnings, Board: board, Page: page}, nil
}

// openAt opens what is served at the address of a variable; the zero value without an address.
func openAt[T any](env string, open func(addr string) (T, error)) (is T, err error) {
	addr := os.Getenv(env)
	if addr == "" {
		return is, nil
	}
	if is, err = open(addr); err != nil {
		err = fmt.Errorf("%s=%s: %w", env, addr, err)
	}
	return is, err
}

// Another returns the observer of another role of this process.
func (o *Observer) Another() *Observer {
	return &Observer{Log: o.Log, Warnings: o.Warnings, Board: o.Board, Page: o.Page}
}

// Show answers probes for the role until Hide, and shows its status until the process ends.
func (o *Observer) Show(role string, health func() Health, status func() Role) {
	if o.Page != nil {
		o.Page.Show(role, status)
	}
	if o.Board == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leave = o.Board.Add(role, func() Health {
		h := health()
		h.Stuck = o.Pulses.Stuck()
		return h
	})
}

// Hide ends the answers to probes.
func (o *Observer) Hide() {
	o.mu.Lock()
	leave := o.leave
	o.leave = nil
	o.mu.Unlock()
	if leave != nil {
		leave()
	}
}

// checkVariables returns an error for a variable that is probably a mistyped one of gofleet's. It warns once of other
// unknown variables that begin like gofleet's, and of one that shows nothing any more.
func checkVariables(log *slog.Logger) error {
	strange, err := mistyped.CheckOurs()
	if err != nil {
		return err
	}
	warnVariables.Do(func() {
		if os.Getenv("FLEET_UI") != "" {
			log.Warn("FLEET_UI shows no page any more: start all roles with FLEET_METRICS=:9100, and show them with " +
				"\"fleetrun watch HOST:9100\"")
		}
		if strange != nil {
			log.Warn("variables that begin with FLEET_ and that gofleet doesn't read", "variables", strange, "read",
				mistyped.Ours())
		}
	})
	return nil
}

var warnVariables sync.Once
