package rolemaker

import (
	"fmt"
	"slices"
	"strings"
)

// claim is what one source says about this process. Zero fields are unknown.
type claim struct {
	source string   // the role maker's name
	names  []string // variables that it was read from; none if the source says nothing
	// id is the identity as far as it is known; Servers has "" for endpoints that are known only after the processes
	// have exchanged them. indexed reports that Index is known.
	id      Identity
	indexed bool
	meeting *meeting // the exchange of the rest, nil if none is needed
}

// nobody is the role of a process that takes no part in training, such as an evaluator.
const nobody Role = -1

func (c claim) speaks() bool { return len(c.names) > 0 }

// listed reports whether the claim has the addresses of servers.
func (c claim) listed() bool { return len(c.id.Servers) > 0 && c.id.Servers[0] != "" }

// or returns c, with o's values for what c lacks. An index belongs to a role, so that one of another role is not used.
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

// differs reports in what two sources differ. What only one of them says is no difference, and addresses are not
// compared, since a process has many. Ranks become roles only by gofleet's own rule, so that they are compared with
// other ranks, and with the workers of a collective job.
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

// String is the claim for a person: "worker 1 of 2, 2 servers".
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
