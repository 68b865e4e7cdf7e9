package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofleet/gofleet/internal/files"
)

// readDirectories tries the directories that the command line names.
func (d *doctor) readDirectories() {
	named := []struct{ flag, dir string }{{"checkpoint", d.checkpoint}, {"journal", d.journal}}
	if d.patients[0].name != "" { // fleetrun starts the role, and has a log of it
		named = append(named, struct{ flag, dir string }{"log_dir", d.options.logDir})
	}
	d.section("directories")
	for _, n := range named {
		if n.dir == "" {
			d.say(n.flag, "not looked at: --%s=DIR says which", n.flag)
			continue
		}
		d.try(n.flag, n.dir)
	}
}

// try writes a file and has it reach the disk, in the directory or in what it would be made in.
func (d *doctor) try(flag, dir string) {
	err := files.CheckLocal(dir)
	in, took := dir, time.Duration(0)
	if err == nil {
		in, err = nearest(dir)
	}
	if err == nil {
		took, err = writeOnce(in)
	}
	if err != nil {
		d.say(flag, "%s: can't be written", dir)
		d.lacks("--%s=%s: %v: name a directory that this user may write", flag, dir, err)
		return
	}
	state := "writable"
	if in != dir {
		state = "not there yet, and can be made"
	}
	space := "free space unknown"
	if n, known := freeSpace(in); known {
		space = bytesText(n) + " free"
	}
	d.say(flag, "%s: %s, %s, a file is on the disk in %v", dir, state, space, rounded(took))
}

// nearest is the directory itself, or the lowest above it that is there.
func nearest(dir string) (string, error) {
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return "", fmt.Errorf("%s is no directory", dir)
		}
		if up := filepath.Dir(dir); errors.Is(err, os.ErrNotExist) && up != dir {
			dir = up
			continue
		}
		return dir, err
	}
}

// writeOnce makes a small file, waits until it is on the disk, and removes it.
func writeOnce(dir string) (took time.Duration, err error) {
	began := time.Now()
	f, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return 0, err
	}
	_, err = f.Write(make([]byte, 4<<10))
	err = errors.Join(err, f.Sync(), f.Close())
	took = time.Since(began)
	return took, errors.Join(err, os.Remove(f.Name()))
}
