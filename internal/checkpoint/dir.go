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
	// ErrNone says that a directory holds no checkpoint.
	ErrNone = errors.New("no checkpoint")
	// ErrDamaged says that a checkpoint is not what its manifest says.
	ErrDamaged = errors.New("damaged checkpoint")
	// ErrOtherModel says that a checkpoint holds other params than this job has.
	ErrOtherModel = errors.New("checkpoint of another model")
)

const (
	manifestName = "manifest.json"
	partPrefix   = "part-"
	partSuffix   = ".safetensors"
	seriesPrefix = "ckpt-"
	// abandoned is the age at which a directory that never became whole belongs to no job any more: its own may have
	// been one of two in Dir.
	abandoned = time.Hour
)

// PartName is the name of a server's part in the save of that id.
func PartName(id string, server, servers int) string {
	return fmt.Sprintf("%s%s-%03d-of-%03d%s", partPrefix, id, server, servers, partSuffix)
}

// removeFiles removes what makes a checkpoint, finished or not, as far as which says so by name. Anything else stays.
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

// numberOf is the number of a checkpoint's directory, if the name is such a one.
func numberOf(dir string) (n int, is bool) {
	text, is := strings.CutPrefix(dir, seriesPrefix)
	n, err := strconv.Atoi(text)
	return n, is && err == nil && n > 0 && name(n) == dir
}

// name is the directory's of a number: as text they sort as the numbers do, up to a million.
func name(n int) string { return fmt.Sprintf("%s%06d", seriesPrefix, n) }

// young says whether a file was written, or something done in a directory, not long ago.
func young(name string) bool {
	st, err := files.Stat(name)
	return err == nil && time.Since(st.ModTime()) < abandoned
}

// pinName is the file whose presence in a checkpoint's directory keeps it.
const pinName = "pinned"

// asideName is the manifest's while its checkpoint is removed.
const asideName = "." + manifestName + ".removed" + files.TempSuffix

// isThere says whether there is a file of a name. An error says that it is not known.
func isThere(name string) (bool, error) {
	is, err := files.Exists(name)
	if err != nil {
		return false, fmt.Errorf("checkpoint: %w", err)
	}
	return is, nil
}

// disk is where checkpoints are written; tests have one that fails, or remembers.
var disk files.FS = files.OS{}

// on is where a directory is written: the disk, or a store.
func on(ctx context.Context, dir string) files.FS { return files.On(ctx, dir, disk) }

// UseDisk has checkpoints written elsewhere, for tests of other packages, until restore is called.
func UseDisk(on files.FS) (restore func()) {
	before := disk
	disk = on
	return func() { disk = before }
}

// among reports whether a param is named; without names all are.
func among(names []string, param string) bool {
	return len(names) == 0 || slices.Contains(names, param)
}

func hasCheckpoint(dir string) bool {
	is, _ := files.Exists(files.Join(dir, manifestName))
	return is
}

// first does one thing after the other until one fails.
func first(things ...func() error) error {
	for _, do := range things {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}
