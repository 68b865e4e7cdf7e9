package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/files"
)

var (
	// ErrNone is the error of a directory without a checkpoint.
	ErrNone = errors.New("no checkpoint")
	// ErrDamaged is the error of a checkpoint that differs from its manifest.
	ErrDamaged = errors.New("damaged checkpoint")
	// ErrVersion is the error of a checkpoint whose format has another version.
	ErrVersion = errors.New("checkpoint of another version")
	// ErrOtherModel is the error of a checkpoint whose params differ from the job's.
	ErrOtherModel = errors.New("checkpoint of another model")
)

const (
	manifestName = "manifest.json"
	partPrefix   = "part-"
	partSuffix   = ".safetensors"
	seriesPrefix = "ckpt-"
	// abandoned is the age at which an incomplete directory counts as left by its job. A younger one may belong to
	// another job that saves into Dir.
	abandoned = time.Hour
)

// PartName returns the file name of a server's part in the save of that id.
func PartName(id string, server, servers int) string {
	return fmt.Sprintf("%s%s-%03d-of-%03d%s", partPrefix, id, server, servers, partSuffix)
}

// removeFiles removes the parts of a checkpoint, and its temporary files, whose names the function which accepts. All
// other files stay.
func removeFiles(dir string, which func(name string) bool) error {
	entries, err := files.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	var errs []error
	for _, e := range entries {
		name := e.Name()
		part := strings.HasPrefix(name, partPrefix) && strings.HasSuffix(name, partSuffix)
		torn := strings.HasSuffix(name, files.TempSuffix) && (strings.HasPrefix(name, "."+partPrefix) ||
			strings.HasPrefix(name, "."+manifestName))
		if (part || torn) && which(name) {
			if err := on(context.Background(), dir).Remove(files.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// numberOf returns the number of a checkpoint's directory; is reports whether dir is such a name.
func numberOf(dir string) (n int, is bool) {
	text, is := strings.CutPrefix(dir, seriesPrefix)
	n, err := strconv.Atoi(text)
	return n, is && err == nil && n > 0 && name(n) == dir
}

// name returns the directory name of a number. Names sort as the numbers do, up to a million.
func name(n int) string { return fmt.Sprintf("%s%06d", seriesPrefix, n) }

// young reports whether a file or directory was modified less than abandoned ago.
func young(name string) bool {
	st, err := files.Stat(name)
	return err == nil && time.Since(st.ModTime()) < abandoned
}

// pinName is the file that keeps a checkpoint from being removed.
const pinName = "pinned"

// asideName is the manifest's name while its checkpoint is removed.
const asideName = "." + manifestName + ".removed" + files.TempSuffix

// isThere reports whether a file exists. An error says that it could not find out.
func isThere(name string) (bool, error) {
	is, err := files.Exists(name)
	if err != nil {
		return false, fmt.Errorf("checkpoint: %w", err)
	}
	return is, nil
}

// disk is the file system of checkpoints; tests replace it by one that fails or records calls.
var disk files.FS = files.OS{}

// on returns the file system of a directory: the disk, or a store.
func on(ctx context.Context, dir string) files.FS { return files.On(ctx, dir, disk) }

// UseDisk replaces the file system of checkpoints, for tests of other packages, until restore is called.
func UseDisk(on files.FS) (restore func()) {
	before := disk
	disk = on
	return func() { disk = before }
}

// among reports whether names contains param; empty names contain all.
func among(names []string, param string) bool {
	return len(names) == 0 || slices.Contains(names, param)
}

func hasCheckpoint(dir string) bool {
	is, _ := files.Exists(files.Join(dir, manifestName))
	return is
}

// first calls the functions in order and returns the first error.
func first(things ...func() error) error {
	for _, do := range things {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}
