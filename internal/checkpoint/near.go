package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/modelfiles"
)

// near says, behind an error about a directory that has neither a checkpoint nor a model, which others were perhaps
// meant: directories in it, as in what a job leaves, or beside it, where there is no directory of that name.
func near(dir string) string {
	if files.IsURL(dir) {
		return "" // a store would be asked for each
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return ", since there is no such directory" + beside(dir)
	}
	return modelfiles.DidYouMean(savedBelow(dir, 2))
}

// beside is near of a directory that is not there, for an error that says so.
func beside(dir string) string {
	if files.IsURL(dir) {
		return ""
	}
	return modelfiles.DidYouMean(savedBelow(files.Dir(files.Clean(dir)), 1))
}

// savedBelow are directories below dir that a job can begin from: each that holds a checkpoint or a model, and the
// newest of each series.
func savedBelow(dir string, levels int) []string {
	return append(newest(dir), modelfiles.Below(dir, levels, func(dir string) []string {
		if _, is := numberOf(files.Base(dir)); !is && (hasCheckpoint(dir) || modelfiles.Is(dir)) {
			return []string{dir}
		}
		return newest(dir)
	})...)
}

// newest is the last whole one of the series in dir, if there is one.
func newest(dir string) []string {
	last, _, err := Latest(dir)
	if err != nil {
		return nil
	}
	return []string{last}
}

// Misplaced refuses a series in a directory that is a checkpoint or a model itself and has none of the series: who
// names it wants to go on from it, and would begin anew.
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
