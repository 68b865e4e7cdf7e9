package main

import (
	"cmp"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/gofleet/gofleet/internal/proc"
	"github.com/gofleet/gofleet/transport"
)

// readClock reports this machine's time. Peers don't send theirs: answers have no date.
func (d *doctor) readClock(now time.Time) {
	d.section("clock")
	d.say("here", "%s", now.Format("2006-01-02 15:04:05.000 -07:00"))
	d.usual("peers", "unknown: gofleet processes tell no time; training needs none, certificates do")
	built := setting(buildInfo(), "vcs.time")
	if at, err := time.Parse(time.RFC3339, built); err == nil && now.Before(at) {
		d.lacks("the clock says %s, and this program is of %s: set the clock, or certificates are not valid",
			now.Format(time.DateTime), built)
	}
}

func buildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return new(debug.BuildInfo)
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// modulePath is the path of gofleet's module. A fleetrun that was built in another module has it among its
// dependencies.
const modulePath = "github.com/gofleet/gofleet"

// readVersions reports the versions of this fleetrun. A peer with another protocol reports that when it is asked.
func (d *doctor) readVersions() {
	info := buildInfo()
	version := info.Main.Version
	for _, m := range info.Deps {
		if m.Path == modulePath {
			version = m.Version
		}
	}
	d.section("versions")
	d.say("protocol", "%s", transport.Protocol)
	d.say("Go", "%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	d.say("gofleet", "%s, revision %s%s", cmp.Or(version, "unknown"), cmp.Or(setting(info, "vcs.revision"), "unknown"),
		map[bool]string{true: " with changes"}[setting(info, "vcs.modified") == "true"])
}

// fewFiles is a small limit of open files: each peer has connections, each table and log a file.
const fewFiles = 1024

// readLimits reports the resources of a process on this machine.
func (d *doctor) readLimits() {
	d.section("limits")
	d.say("cores", "%d, of which a process uses GOMAXPROCS=%d", runtime.NumCPU(), runtime.GOMAXPROCS(0))
	memory := "no limit of a control group"
	if n := proc.MemoryLimit(); n > 0 {
		memory = "at most " + bytesText(n) + " for the control group"
	}
	d.say("memory", "%s, GOMEMLIMIT=%s", memory, cmp.Or(os.Getenv("GOMEMLIMIT"), "off"))
	files, known := openFiles()
	if !known {
		d.say("open files", "unknown")
		return
	}
	d.say("open files", "%d", files)
	if files < fewFiles {
		d.says("%d open files at most are few for a server with many workers: ulimit -n %d", files, fewFiles)
	}
}
