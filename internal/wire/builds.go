package wire

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// OtherVersion is the error of a frame from a build with another version of the protocol. Its text is for a person at
// either side.
type OtherVersion struct{ Theirs byte }

func (e *OtherVersion) Error() string {
	theirs, late := "an earlier gofleet", "sent it"
	if e.Theirs > version {
		theirs, late = "a later gofleet", "has got it"
	}
	return fmt.Sprintf("wire: a frame of version %d of the protocol (%s) came to a process of version %d (gofleet "+
		"%s): upgrade gofleet in the process that %s, or run one build in all processes of the job",
		e.Theirs, theirs, version, Build(), late)
}

// Unwrap makes it an ErrVersion.
func (e *OtherVersion) Unwrap() error { return ErrVersion }

// Apart describes the builds of two processes that build different jobs, perhaps since a later build has more options
// of a rule or a strategy. It is "" if the builds are the same, or theirs is not known.
func Apart(mine, theirs, build string) string {
	if build == "" || build == Build() {
		return ""
	}
	return fmt.Sprintf("; %s has gofleet %.40q, %s %q: upgrade the earlier", theirs, build, mine, Build())
}

// Build is the version of gofleet's module in this program.
var Build = sync.OnceValue(func() string {
	const module = "github.com/gofleet/gofleet"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "of an unknown version"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Version != "" {
			return m.Version
		}
	}
	return "(devel)"
})
