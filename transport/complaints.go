package transport

import (
	"log/slog"
	"sync"
	"time"
)

// complaints are a server's log lines about refused requests. Each cause has one line in a while, however many requests
// come.
type complaints struct {
	mu    sync.Mutex
	about map[*tally]*complaint
}

type complaint struct {
	last time.Time
	kept int // not logged since then
}

// complainAgain is the pause between two lines about the same cause.
const complainAgain = 30 * time.Second

// say writes a line, unless there was one about that cause recently.
func (c *complaints) say(log *slog.Logger, cause *tally, endpoint, from, why string) {
	c.mu.Lock()
	if c.about == nil {
		c.about = make(map[*tally]*complaint)
	}
	one := c.about[cause]
	if one == nil {
		one = new(complaint)
		c.about[cause] = one
	}
	now := time.Now()
	if !one.last.IsZero() && now.Sub(one.last) < complainAgain {
		one.kept++
		c.mu.Unlock()
		return
	}
	others := one.kept
	*one = complaint{last: now}
	c.mu.Unlock()
	log.Warn("transport: request refused", "endpoint", endpoint, "from", from, "why", why,
		"others since the last such line", others)
}
