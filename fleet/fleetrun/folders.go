package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/files"
)

// folder is a directory that a job writes, with the flag that names it.
type folder struct{ flag, dir string }

// readDirectories examines the directories on the command line, named by doctor's flags or by those of the program.
func (d *doctor) readDirectories() {
	args := d.options.args
	named := []folder{{"checkpoint", cmp.Or(d.checkpoint, flagOf(args, "checkpoint"))},
		{"journal", cmp.Or(d.journal, flagOf(args, "journal"))}, {"out", flagOf(args, "out")}}
	if d.patients[0].name != "" { // fleetrun starts the role, and writes its log
		named = append(named, folder{"log_dir", d.options.logDir})
	}
	from := flagOf(args, "load")
	d.section("directories")
	seen := false
	for _, n := range named {
		if n.dir == "" {
			d.usual(n.flag, "not looked at: --%s=DIR says which", n.flag)
			continue
		}
		seen = true
		if files.IsURL(n.dir) && (n.flag == "checkpoint" || n.flag == "out") {
			d.say(n.flag, notHere, n.dir)
			continue
		}
		d.try(n)
	}
	switch {
	case files.IsURL(from):
		d.say("load", notHere, from)
	case from != "":
		d.readBeginning(from)
	}
	if !seen && from == "" {
		d.say("none named", "--checkpoint=DIR and --journal=DIR examine them, and so does a program with its flags")
	}
}

// notHere is the note for a store, which only programs that mount it can reach.
const notHere = "%s: in a store, which the program has to mount (package fleet/store): not looked at"

// flagOf is the value of a flag in a program's command line, "" if it is missing; flags of Go have one dash or two. A
// value in a word of its own does not begin with a dash.
func flagOf(args []string, name string) (value string) {
	for i, arg := range args {
		switch given, text, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "="); {
		case arg == "--":
			return value
		case !strings.HasPrefix(arg, "-") || given != name:
		case has:
			value = text
		case i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			value = args[i+1]
		}
	}
	return value
}

// readBeginning reports what a job would begin from.
func (d *doctor) readBeginning(dir string) {
	found, err := checkpoint.Find(dir)
	switch {
	case err == nil && len(found) == 1 && found[0] == dir:
		d.say("load", "%s: there", dir)
		return
	case err == nil:
		err = fmt.Errorf("it holds no checkpoint itself: did you mean %s?",
			strings.Join(found[max(len(found)-2, 0):], ", or "))
	}
	d.say("load", "%s: nothing to begin from", dir)
	d.says("-load=%s: %v", dir, err)
}

// try writes a file and syncs it to the disk, in the directory or in the one above that exists.
func (d *doctor) try(f folder) {
	err := files.CheckLocal(f.dir)
	in, took := f.dir, time.Duration(0)
	if err == nil {
		in, err = nearest(f.dir)
	}
	if err == nil {
		took, err = writeOnce(in)
	}
	if err != nil {
		d.say(f.flag, "%s: can't be written", f.dir)
		d.lacks("--%s=%s: %v: name a directory that this user may write", f.flag, f.dir, err)
		return
	}
	state := "writable"
	if in != f.dir {
		state = "not there yet, and can be made"
	}
	space := "free space unknown"
	if n, known := freeSpace(in); known {
		space = bytesText(n) + " free"
	}
	system := fileSystem(in)
	d.say(f.flag, "%s: %s, %s, %sa file is on the disk in %v", f.dir, state, space, system.text(),
		took.Round(10*time.Microsecond))
	d.judge(f, system)
}

// judge reports whether a directory's place suits its purpose.
func (d *doctor) judge(f folder, on system) {
	switch {
	case f.flag == "checkpoint":
		if newest, m, err := checkpoint.Latest(f.dir); err == nil {
			d.say("goes on from", "%s, of update %d", newest, m.Step)
		}
		if err := checkpoint.Misplaced(f.dir); err != nil && flagOf(d.options.args, "load") == "" {
			d.lacks("--%s: %v", f.flag, err)
		}
		if on.kind == ownSystem && d.spreads() {
			d.says("--checkpoint=%s is on a file system of this machine's own (%s), and the job has roles on others: "+
				"all servers, or all workers of a job without, need the same directory: name one that the machines "+
				"share", f.dir, on.name)
		}
	case f.flag == "journal" && on.kind == sharedSystem:
		d.says("--journal=%s is on a file system of the network (%s), and a journal is written with every push: name "+
			"a directory of a local disk", f.dir, on.name)
	}
	if on.name == "tmpfs" && (f.flag == "checkpoint" || f.flag == "journal") {
		d.says("--%s=%s is in memory (tmpfs), and gone when the machine starts again: name a directory on a disk",
			f.flag, f.dir)
	}
}

// spreads reports whether roles of the job are on several machines, by their addresses.
func (d *doctor) spreads() bool {
	hosts := map[string]bool{}
	own, peers := d.endpoints()
	for _, c := range append(own, peers...) {
		host, _, err := net.SplitHostPort(c.endpoint)
		if at, no := netip.ParseAddr(host); no == nil && at.IsLoopback() {
			host = "localhost"
		}
		if err == nil {
			hosts[host] = true
		}
	}
	return len(hosts) > 1
}

// nearest is the directory itself, or the lowest one above it that exists.
func nearest(dir string) (string, error) {
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return "", fmt.Errorf("%s is not a directory", dir)
		}
		if up := filepath.Dir(dir); errors.Is(err, os.ErrNotExist) && up != dir {
			dir = up
			continue
		}
		return dir, err
	}
}

// writeOnce writes a small file, waits until it is on the disk, and removes it.
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
