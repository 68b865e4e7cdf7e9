package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/modelfiles"
)

// near returns text for an error about a directory that holds neither a checkpoint nor a model. It suggests directories
// inside dir that do, such as a series; or, if dir does not exist, directories beside it.
func near(dir string) string {
	if files.IsURL(dir) {
		return "" // in a store each would cost a request
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return ": the directory does not exist" + beside(dir)
	}
	return modelfiles.DidYouMean(savedBelow(dir, 2))
}

// beside returns near's suggestions for a directory that does not exist.
func beside(dir string) string {
	if files.IsURL(dir) {
		return ""
	}
	return modelfiles.DidYouMean(savedBelow(files.Dir(files.Clean(dir)), 1))
}

// savedBelow returns the directories below dir that a job can begin from: each that holds a checkpoint or a model, and
// the newest of each series.
func savedBelow(dir string, levels int) []string {
	return append(newest(dir), modelfiles.Below(dir, levels, func(dir string) []string {
		if _, is := numberOf(files.Base(dir)); !is && (hasCheckpoint(dir) || modelfiles.Is(dir)) {
			return []string{dir}
		}
		return newest(dir)
	})...)
}

// newest returns the newest complete checkpoint of the series in dir, if there is one.
func newest(dir string) []string {
	last, _, err := Latest(dir)
	if err != nil {
		return nil
	}
	return []string{last}
}

// Place returns the full name of a directory of this machine or in a mounted store: servers have working directories of
// their own.
func Place(dir string) (string, error) {
	if dir == "" {
		return "", fmt.Errorf("the directory's name is empty: %w", ErrNone)
	}
	if err := files.Check(dir); err != nil {
		return "", err
	}
	return files.Abs(dir)
}

// Misplaced returns an error if a series' directory is itself a checkpoint or a model and has no checkpoints of a
// series: its user wants to resume from it, but the job would begin anew.
func Misplaced(series string) error {
	if all, err := numbers(series); series == "" || err != nil || len(all) > 0 {
		return nil
	}
	kind := "checkpoint"
	switch {
	case hasCheckpoint(series):
	case modelfiles.Is(series):
		kind = "saved model"
	default:
		return nil
	}
	return fmt.Errorf("checkpoint: %s is a %s itself, and has no checkpoints %s… to go on from: Restore (-load) "+
		"begins from it; a job that begins anew needs a directory of its own for checkpoints", series, kind,
		seriesPrefix)
}
