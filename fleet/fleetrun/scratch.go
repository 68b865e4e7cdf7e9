package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// makeScratch makes a directory that fleetrun removes when it ends. The next start removes those of processes that were
// killed.
func makeScratch(in string) (dir string, remove func(), err error) {
	sweepScratch(in, time.Now().Add(-time.Minute))
	if dir, err = os.MkdirTemp(in, "fleetrun-"); err != nil {
		return "", nil, err
	}
	unlock, _ := lockDir(dir)
	return dir, func() { os.RemoveAll(dir); unlock() }, nil
}

// sweepScratch removes directories of makeScratch that are not locked and that are older than before: the process of a
// younger one may be about to lock it.
func sweepScratch(in string, before time.Time) {
	all, _ := filepath.Glob(filepath.Join(in, "fleetrun-*"))
	for _, dir := range all {
		number := strings.TrimPrefix(filepath.Base(dir), "fleetrun-") // other programs' names have words
		info, err := os.Lstat(dir)
		if strings.Trim(number, "0123456789") != "" || err != nil || !info.IsDir() || info.ModTime().After(before) {
			continue
		}
		if unlock, locked := lockDir(dir); locked {
			os.RemoveAll(dir) // fails for those of other users
			unlock()
		}
	}
}
