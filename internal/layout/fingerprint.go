package layout

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/gofleet/gofleet/optimizer"
)

// Fingerprint describes, a line for each fact, all that processes of a job must have in common: rule, strategy, placement, params
// and initial values.
type Fingerprint []string

// Fingerprint is that of a job with this layout; facts are what there is to say of its strategy.
func (l *Layout) Fingerprint(rule optimizer.Rule, facts ...string) Fingerprint {
	f := Fingerprint{fmt.Sprintf("rule %T%+v", rule, rule)}
	f = append(f, facts...)
	f = append(f, fmt.Sprintf("servers %d placed by %s", l.Plan.Servers, l.Plan.Policy))
	for _, p := range l.Params {
		f = append(f, fmt.Sprintf("param %q shape %v embedding %t frozen %t seed %d from %T%+v", p.Name, p.Shape, p.Embedding, p.Frozen, p.Seed, p.Init, p.Init))
		if p.Entry != (optimizer.Entry{}) || p.MaxBytes != 0 {
			f = append(f, fmt.Sprintf("param %q entry %+v max bytes %d", p.Name, p.Entry, p.MaxBytes))
		}
	}
	for _, p := range l.Params {
		if p.Rows != nil {
			f = append(f, fmt.Sprintf("param %q begins with %v", p.Name, p.Rows))
		}
	}
	for _, b := range l.Plan.Blocks {
		f = append(f, fmt.Sprintf("block %s at %d of %d on server %d", b.Name, b.Offset, b.Size, b.Server))
	}
	return f
}

// Sum is a short form of the fingerprint.
func (f Fingerprint) Sum() uint64 {
	h := fnv.New64a()
	h.Write([]byte(strings.Join(f, "\n")))
	return h.Sum64()
}

// Difference is the first line in which other differs, as "here … there …"; empty if none does.
func (f Fingerprint) Difference(other Fingerprint) string {
	for i := range max(len(f), len(other)) {
		if a, b := f.line(i), other.line(i); a != b {
			return fmt.Sprintf("here: %s; there: %s", a, b)
		}
	}
	return ""
}

func (f Fingerprint) line(i int) string {
	if i < len(f) {
		return f[i]
	}
	return "nothing"
}
