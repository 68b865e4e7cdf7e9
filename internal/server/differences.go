package server

import (
	"log/slog"
	"sync"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
)

// differences tell processes that build another job in what they differ. Who knows the whole fingerprint may join: so a
// few of its lines are told, which is what people need who have mistyped something, and the log has the others.
type differences struct {
	fingerprint layout.Fingerprint
	log         *slog.Logger

	mu   sync.Mutex
	told map[int]bool // by line
}

// mostTold is how many lines of the fingerprint are told.
const mostTold = 3

// refusal refuses a process of another job, which says of which build it is; nil if it is of this job. mine and theirs
// name the two processes for the text. It takes no lock but its own.
func (c *differences) refusal(mine string, other layout.Fingerprint, theirs, build string) error {
	d := c.fingerprint.Difference(mine, other, theirs)
	if d == "" {
		return nil
	}
	switch told, first := c.tells(c.fingerprint.FirstDifferent(other)); {
	case first:
		c.log.Warn("refused a process that builds another job", "process", theirs, "difference", d)
	case !told:
		c.log.Warn("refused a process of another job, which was not told the difference", "difference", d)
		d = "the log of " + mine + " says in what"
	}
	return wire.Refuse(wire.StatusMismatch, "%s builds another job than %s: %s%s", theirs, mine, d,
		wire.Apart(mine, theirs, build))
}

// tells says whether a line may be told, and whether for the first time.
func (c *differences) tells(line int) (told, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first = !c.told[line] && len(c.told) < mostTold; first {
		c.told[line] = true
	}
	return c.told[line], first
}
