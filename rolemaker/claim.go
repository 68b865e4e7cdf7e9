package rolemaker

import (
	"fmt"
	"slices"
	"strings"
)

// claim is what one source says of this process. What it leaves zero it does not say.
type claim struct {
	source string   // the role maker's name
	names  []string // the variables that it was read from; without any the source says nothing
	// id is as much of the identity as is said; Servers has "" for endpoints that are known when the processes have
	// met. indexed says that Index is said.
	id      Identity
	indexed bool
	meeting *meeting // how the processes learn the rest, nil if there is nothing to learn
}

// nobody is the role of a process that takes no part in training, such as an evaluator.
const nobody Role = -1

func (c claim) speaks() bool { return len(c.names) > 0 }

// listed says whether the claim says where servers are.
func (c claim) listed() bool { return len(c.id.Servers) > 0 && c.id.Servers[0] != "" }

// or is c, and of what c does not say what o says. A number is of a role: that of another is no use.
func (c claim) or(o claim) claim {
	sameRole := c.id.Role == 0 || o.id.Role == 0 || c.id.Role == o.id.Role
	if !c.indexed && o.indexed && sameRole {
		c.id.Index, c.indexed = o.id.Index, true
	}
	if c.id.Role == 0 {
		c.id.Role = o.id.Role
	}
	if c.id.Workers == 0 {
		c.id.Workers = o.id.Workers
	}
	if len(c.id.Servers) == 0 {
		c.id.Servers, c.id.Collective = o.id.Servers, c.id.Collective || o.id.Collective
	}
	if len(c.id.WorkerEndpoints) == 0 {
		c.id.WorkerEndpoints = o.id.WorkerEndpoints
	}
	if listed := slices.Concat(c.id.Servers, c.id.WorkerEndpoints); len(listed) == 0 || listed[0] == "" {
		c.meeting = o.meeting
	}
	if o.speaks() {
		c.source, c.names = strings.TrimPrefix(c.source+" over "+o.source, " over "), append(c.names, o.names...)
	}
	return c
}

// differs says where two sources differ. What only one of them says is no difference, and addresses are not compared:
// one process has many. Ranks are roles by gofleet's own rule alone, so that they are compared with other ranks, and
// with the workers of a collective job.
func (c claim) differs(o claim) (role, index, counts bool) {
	a, b := c.id, o.id
	switch both := a.Collective && b.Collective; {
	case c.meeting != nil && o.meeting != nil:
		return false, false, !c.meeting.same(o.meeting.world)
	case (c.meeting != nil || o.meeting != nil) && !both:
		return false, false, false
	}
	role = a.Role != 0 && b.Role != 0 && a.Role != b.Role
	index = c.indexed && o.indexed && a.Index != b.Index
	counts = a.Workers != 0 && b.Workers != 0 && a.Workers != b.Workers ||
		len(a.Servers) != 0 && len(b.Servers) != 0 && len(a.Servers) != len(b.Servers) ||
		a.Collective && len(b.Servers) != 0 || b.Collective && len(a.Servers) != 0
	return role, index, counts
}

// String is what is said: "worker 1 of 2, 2 servers".
func (c claim) String() string {
	var text strings.Builder
	switch c.id.Role {
	case 0:
		text.WriteString("number")
	case nobody:
		return "a process that does not train"
	default:
		fmt.Fprint(&text, c.id.Role)
	}
	if c.indexed {
		fmt.Fprintf(&text, " %d", c.id.Index)
	}
	if n := c.id.peers(); n > 0 {
		fmt.Fprintf(&text, " of %d", n)
	}
	switch {
	case c.id.Collective:
		text.WriteString(", without servers")
	case c.id.Role == Worker && len(c.id.Servers) > 0:
		fmt.Fprintf(&text, ", %d servers", len(c.id.Servers))
	case c.id.Role == Server && c.id.Workers > 0:
		fmt.Fprintf(&text, ", %d workers", c.id.Workers)
	}
	return text.String()
}
