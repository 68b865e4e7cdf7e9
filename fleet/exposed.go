package fleet

import (
	"fmt"
	"os"

	"github.com/gofleet/gofleet/internal/observe"
)

// opened opens what is served at the address of a variable; the zero value without an address.
func opened[T any](env string, open func(addr string) (T, error)) (is T, err error) {
	addr := os.Getenv(env)
	if addr == "" {
		return is, nil
	}
	if is, err = open(addr); err != nil {
		err = fmt.Errorf("fleet: %s=%s: %w", env, addr, err)
	}
	return is, err
}

// status is what this role says of itself.
func (f *Fleet) status() observe.Role {
	s := f.Stats()
	r := observe.Role{Kind: f.kind(), Index: f.id.Index, Began: f.began, Runs: f.stands().Began || s.Counts.Steps > 0,
		Stats: &s, Warnings: f.warnings.Last()}
	if t, shown := observe.Trained.Load(f.id.Index); shown && f.IsWorker() {
		r.Training = t.(*observe.Training)
	}
	return r
}
