package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/gofleet/gofleet/internal/files"
)

// link is a checkpoint of a chain.
type link struct {
	Manifest
	dir string
}

// chain returns a checkpoint, its base, the base of that, and so on down to one without a base. It checks that each
// base has the id and checksum that the manifest above it names.
func chain(dir string, m Manifest) (links []link, err error) {
	at := link{m, dir}
	links = append(links, at)
	for at.Base != nil {
		below, err := at.below()
		if err != nil {
			return links, err
		}
		if len(links) > 1 && files.Base(at.dir) <= at.Base.Dir { // a user may have renamed the first
			return links, fmt.Errorf("checkpoint: %s is based on %s, which is not older: %w", at.dir, below.dir,
				ErrDamaged)
		}
		at = below
		links = append(links, at)
	}
	return links, nil
}

// below returns a checkpoint's base.
func (l link) below() (link, error) {
	dir, want := files.Join(l.dir, "..", l.Base.Dir), *l.Base
	m, err := Read(dir)
	switch {
	case err != nil && Torn(err):
		return link{}, fmt.Errorf("checkpoint: %s is based on %s, and good for nothing without it: %w: %v", l.dir, dir,
			ErrDamaged, err)
	case err != nil:
		return link{}, err
	case m.ID != want.ID || m.Sum != want.Sum:
		return link{}, fmt.Errorf("checkpoint: %s is based on checkpoint %s (%s), and in %s is %s (%s): %w",
			l.dir, want.ID, want.Sum, dir, m.ID, m.Sum, ErrDamaged)
	}
	return link{m, dir}, nil
}

// wholeChain is chain, and checks that all parts exist with the sizes in the manifests.
func wholeChain(dir string, m Manifest) ([]link, error) {
	links, err := chain(dir, m)
	for _, link := range links {
		for _, p := range link.Parts {
			if err == nil {
				err = visible(link.dir, p)
			}
		}
	}
	return links, err
}

// Whole reads the manifest of a checkpoint and checks that its parts, and the parts of all its bases, exist with the
// sizes in the manifests.
func Whole(dir string) (Manifest, error) { return whole(dir) }

// whole implements Whole.
func whole(dir string) (Manifest, error) {
	m, err := Read(dir)
	if err == nil {
		_, err = wholeChain(dir, m)
	}
	return m, err
}

// Torn reports whether an error is about a checkpoint that was not completed, or was damaged later.
func Torn(err error) bool {
	return errors.Is(err, ErrNone) || errors.Is(err, ErrDamaged) || errors.Is(err, fs.ErrNotExist)
}
