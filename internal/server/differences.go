package server

import (
	"log/slog"
	"sync"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
)

// differences reports to refused processes how their job differs. A process with the whole fingerprint could join, so
// a refusal shows only a few of its lines, enough for a person who has mistyped something; the log has the others.
type differences struct {
	fingerprint layout.Fingerprint
	log         *slog.Logger

	mu   sync.Mutex
	told map[int]bool // lines that were shown
}

// mostTold is the number of lines of the fingerprint that are shown.
const mostTold = 3

// refusal refuses a process of another job, with its build; nil if it is of this job. mine and theirs name the two
// processes in the text. It takes only its own lock.
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

// tells reports whether a line may be shown, and whether it is for the first time.
func (c *differences) tells(line int) (told, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first = !c.told[line] && len(c.told) < mostTold; first {
		c.told[line] = true
	}
	return c.told[line], first
}
