package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/strategy"
)

// unreadable puts links that lead nowhere in the place of files, which no system opens, until again is called. again fails if somebody
// has removed a link.
func unreadable(names []string) (again func() error, err error) {
	if len(names) == 0 {
		return nil, errors.New("there are no such files")
	}
	for _, name := range names {
		if err := errors.Join(os.Rename(name, name+".whole"), os.Symlink(filepath.Base(name), name)); err != nil {
			return nil, err
		}
	}
	return func() (err error) {
		for _, name := range names {
			err = errors.Join(err, os.Remove(name), os.Rename(name+".whole", name))
		}
		return err
	}, nil
}

// unread is nil for an error of a file of these names, which can't be read.
func unread(err error, names []string) error {
	var of *fs.PathError
	if !errors.As(err, &of) {
		return fmt.Errorf("%w, want the error of a file", err)
	}
	for _, name := range names {
		if strings.Contains(err.Error(), name) && strings.Contains(err.Error(), "again when it can") {
			return nil
		}
	}
	return fmt.Errorf("%w, which names none of %q, or does not say what to do", err, names)
}

// TestAJournalThatCantBeRead: a server that is started again while a file of its journal, or of the checkpoint from which the journal
// goes on, can't be read does not begin: nothing is removed, and once the file can be read it comes back with all that was acknowledged.
//
// Promise: [G6] a file that can't be read does not count as damaged: a role that needs it does not begin, reports
// that, and changes nothing; nor does a role that removes or replaces other files
// Also: TestACheckpointThatCantBeRead, TestUnreadableLinksKeepTheirBases (internal/checkpoint),
// TestUnreadableClaimCountsAsHeld (internal/checkpoint), TestACrowdedDisk (internal/journal), TestDeltasBesideWhatCantBeRead
// (internal/modelfiles)
func TestAJournalThatCantBeRead(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	for what, pattern := range map[string]string{"the journal": "journal/server-1-of-2.0*", "manifests": "checkpoints/ckpt-*/manifest.json",
		"parts": "checkpoints/ckpt-*/part-*-001-of-002.safetensors"} {
		t.Run(what, func(t *testing.T) {
			s := journaled(strategy.Async(), t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every = strategy.Duration(300 * time.Millisecond)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 2)
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					play := func(ctx context.Context, f *fleet.Fleet) error { return countSlowly(ctx, f, s, 60, 120) }
					if f.ServerIndex() != 1 {
						return play(ctx, f)
					}
					if ended, err := live(ctx, f, network, time.Second, play); ended {
						return fmt.Errorf("it was not killed: %w", err)
					}
					names, err := filepath.Glob(filepath.Join(filepath.Dir(s.Recovery.Dir), pattern))
					if err != nil {
						return err
					}
					again, err := unreadable(names)
					if err != nil {
						return err
					}
					for range 2 {
						if _, err = live(ctx, f, network, 0, play); unread(err, names) != nil {
							return unread(err, names)
						}
					}
					if err := again(); err != nil {
						return err
					}
					_, err = live(ctx, f, network, 0, play)
					return err
				}))
			})
		})
	}
}

// TestACheckpointThatCantBeRead: a job that is started again while its newest checkpoint can't be read begins neither anew nor from an
// older one, and leaves all of them; once it can be read the job goes on from there.
func TestACheckpointThatCantBeRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	s := trial.Patient(strategy.Sync())
	s.Recovery = strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Hour), Keep: 3}
	job := func(t *testing.T, from, steps float32, refused []string) {
		synctest.Test(t, func(t *testing.T) {
			cluster, _ := quiet(1, 1)
			trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				play := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
					return errors.Join(c.Holds(ctx, from), c.Train(ctx, int(steps)), f.Checkpoint(ctx), c.Holds(ctx, from+steps))
				})
				if len(refused) == 0 {
					return play(ctx, f)
				}
				if f.IsWorker() {
					return nil // there is no server to train with
				}
				return unread(play(ctx, f), refused)
			}))
		})
	}
	job(t, 0, 2, nil)
	job(t, 2, 3, nil)
	for _, file := range []string{"manifest.json", "part-*"} {
		all, err := filepath.Glob(filepath.Join(s.Recovery.Dir, "ckpt-*", file))
		if err != nil || len(all) < 2 {
			t.Fatal(err, all)
		}
		again, err := unreadable(all[len(all)-1:])
		law.Check(t, err)
		job(t, 0, 0, all[len(all)-1:])
		law.Check(t, again())
	}
	job(t, 5, 1, nil)
}
