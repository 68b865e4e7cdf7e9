package layout

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/optimizer"
)

// Fingerprint lists, a [Fact] a line, everything that must be equal in all processes of a job: rule, strategy,
// placement, params and initial values.
type Fingerprint []string

// Fact returns a line of a fingerprint. No two lines have the same key.
func Fact(key string, value any) string { return fmt.Sprintf("%s\t%+v", key, value) }

// Fingerprint returns the fingerprint of a job with this layout and rule; facts describe its strategy.
func (l *Layout) Fingerprint(rule optimizer.Rule, facts ...string) Fingerprint {
	f := Fingerprint{Fact("rule", described(rule))}
	f = append(f, facts...)
	f = append(f, Fact("servers", l.Plan.Servers), Fact("placement", l.Plan.Policy))
	for _, p := range l.Params {
		name := fmt.Sprintf("param %q ", p.Name)
		f = append(f, Fact(name+"shape", p.Shape), Fact(name+"embedding", p.Embedding), Fact(name+"frozen", p.Frozen),
			Fact(name+"seed", p.Seed), Fact(name+"initializer", described(p.Init)))
		if p.Entry != (optimizer.Entry{}) {
			f = append(f, Fact(name+"entry", described(p.Entry)))
		}
		if p.MaxBytes != 0 {
			f = append(f, Fact(name+"max bytes", p.MaxBytes))
		}
		if p.Evict != (optimizer.Evict{}) {
			f = append(f, Fact(name+"evict", described(p.Evict)))
		}
	}
	for _, p := range l.Params {
		if p.Rows != nil {
			f = append(f, Fact(fmt.Sprintf("param %q first rows", p.Name), p.Rows))
		}
	}
	for _, b := range l.Plan.Blocks {
		f = append(f, Fact(fmt.Sprintf("block %s at %d of %d", b.Name, b.Offset, b.Size),
			fmt.Sprintf("on server %d", b.Server)))
	}
	return f
}

// Sum returns a hash of the fingerprint.
func (f Fingerprint) Sum() uint64 {
	h := fnv.New64a()
	h.Write([]byte(strings.Join(f, "\n")))
	return h.Sum64()
}

// Difference describes the first fact in which the fingerprints differ, with both values and the names mine and theirs
// of their processes; "" if none does.
func (f Fingerprint) Difference(mine string, other Fingerprint, theirs string) string {
	for i := range max(len(f), len(other)) {
		if f.line(i) == other.line(i) {
			continue
		}
		key, a := f.fact(i)
		otherKey, b := other.fact(i)
		switch {
		case key == otherKey:
			a, b = excerpts(a, b)
			return fmt.Sprintf("%s has %s %s, %s has %s%s", mine, key, a, theirs, b, remedies[key])
		case key != "" && !other.knows(key):
			return fmt.Sprintf("%s has %s %s, %s %s", mine, key, excerpt(a, 0), theirs, without(key))
		case otherKey != "" && !f.knows(otherKey):
			return fmt.Sprintf("%s has %s %s, %s %s", theirs, otherKey, excerpt(b, 0), mine, without(otherKey))
		}
		return fmt.Sprintf("%s has %s where %s has %s: they come in another order", mine, key, theirs, otherKey)
	}
	return ""
}

// without says what the process has that lacks a fact.
func without(key string) string {
	if strings.HasPrefix(key, "strategy ") {
		return "leaves it at its default"
	}
	return "has none"
}

// FirstDifferent returns the first line in which the fingerprints differ, -1 if none does.
func (f Fingerprint) FirstDifferent(other Fingerprint) int {
	for i := range max(len(f), len(other)) {
		if f.line(i) != other.line(i) {
			return i
		}
	}
	return -1
}

// remedies says, for facts that often differ, where processes get them from.
var remedies = map[string]string{
	"workers": ": PADDLE_TRAINERS_NUM, or what else tells each process the number of workers",
	"servers": ": PADDLE_PSERVERS_IP_PORT_LIST, or what else tells each process of all servers",
}

func (f Fingerprint) line(i int) string {
	if i < len(f) {
		return f[i]
	}
	return ""
}

func (f Fingerprint) fact(i int) (key, value string) {
	key, value, _ = strings.Cut(f.line(i), "\t")
	return key, value
}

func (f Fingerprint) knows(key string) bool {
	return slices.ContainsFunc(f, func(line string) bool { return strings.HasPrefix(line, key+"\t") })
}

// excerpts returns two different values; of long ones, the parts where they begin to differ.
func excerpts(a, b string) (string, string) {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	return excerpt(a, same), excerpt(b, same)
}

// excerpt returns a value; of a long one, the part around byte at.
func excerpt(v string, at int) string {
	const before, after = 20, 60
	if len(v) <= before+after {
		return v
	}
	from, to := max(0, at-before), min(len(v), at+after)
	out := strings.ToValidUTF8(v[from:to], "")
	if from > 0 {
		out = "…" + out
	}
	if to < len(v) {
		out += "…"
	}
	return out
}
