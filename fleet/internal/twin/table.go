package twin

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/gofleet/gofleet/strategy"
)

// Features are what a program has drawn: options that a leg sets, by field of Strategy, rules, what the model has,
// and events.
func (p Program) Features() (options, events []string) {
	o, e := map[string]bool{"a store": p.Store}, map[string]bool{}
	for i, l := range p.Legs {
		o["kind "+l.kind()] = true
		o[fmt.Sprintf("%d servers", l.Servers)] = true
		o[fmt.Sprintf("%d workers", l.Workers)] = true
		o["blocks that shift"] = o["blocks that shift"] || p.shifted(i)
		o["threads"] = o["threads"] || l.Threads > 1
		for _, name := range set(l.Strategy) {
			o[name] = true
		}
		l.Rules.features(o)
		ruled := func(name string) bool { _, own := l.Rules.By[name]; return !own }
		o["a rule that no param has"] = o["a rule that no param has"] || !slices.ContainsFunc(p.Net.params(), ruled)
		if i > 0 {
			e["restart"] = true
			e["restart on other servers"] = e["restart on other servers"] || l.Servers != p.Legs[i-1].Servers
		}
		e["a server returns"] = e["a server returns"] || len(l.Returns) > 0
		if l.From.Dir != "" {
			e["from by "+l.From.How] = true
			e["from weights only"] = e["from weights only"] || l.From.WeightsOnly
		}
		for k, c := range l.Calls {
			c.events(e)
			if k > 0 && c.Do == train && l.Calls[k-1].Do == train {
				e["epoch behind an epoch"] = true
			}
			if k > 0 && c.Do == shrink && l.Calls[k-1].Do == shrink {
				e["all rows are dropped"] = true
			}
		}
	}
	p.Net.features(o)
	keys := func(m map[string]bool) []string {
		maps.DeleteFunc(m, func(_ string, is bool) bool { return !is })
		return slices.Sorted(maps.Keys(m))
	}
	return keys(o), keys(e)
}

func (r Rules) features(o map[string]bool) {
	for _, own := range append(slices.Collect(maps.Values(r.By)), r.All) {
		o["rule "+own.Kind] = true
		o["a schedule"] = o["a schedule"] || own.Schedule.Kind != ""
		o["decay"] = o["decay"] || own.L2 > 0
		o["clip by value"] = o["clip by value"] || own.Max > 0
	}
	o["clip by norm"] = o["clip by norm"] || r.Clip == "each"
	o["clip by global norm"] = o["clip by global norm"] || r.Clip == "all"
	o["a rule per param"] = o["a rule per param"] || len(r.By) > 1
}

func (n Net) features(o map[string]bool) {
	o[fmt.Sprintf("%d tables", len(n.Tables))] = true
	o["wide rows"] = n.wide()
	o["batch norm"] = n.Norm > 0
	o["ledger"], o["fetch beside the loss"], o["dropout"] = n.Ledger, n.Beside, n.Drop > 0
	o["labels that are NaN"] = n.Bad > 0
	for _, t := range n.Tables {
		o["count filter"] = o["count filter"] || t.Count > 1
		o["probability"] = o["probability"] || t.Chance > 0
		o["shows"] = o["shows"] || t.Score > 0
		o["clicks"] = o["clicks"] || t.Clicks
		o["open table"] = o["open table"] || t.Height == 0
	}
}

func (c Call) events(e map[string]bool) {
	name := c.Do
	if c.Mode != "" {
		name += " a " + c.Mode
	}
	e["a base leaves rows out"] = e["a base leaves rows out"] || c.leaves()
	if len(c.Only) > 0 {
		name += " of one param"
	}
	if c.ByHand {
		name += " by hand"
	}
	if c.Who != "" {
		name += " by the " + c.Who + " executor"
	}
	e[name] = true
	e["a rate while training"] = e["a rate while training"] || c.Turn != nil
	for _, l := range c.Looks {
		e["look while training by the "+l.Who+" executor"] = true
	}
	for w := range c.Batches {
		e["uneven epoch"] = e["uneven epoch"] || len(c.Batches[w]) != len(c.Batches[0])
	}
}

// set are the fields of a strategy that are set.
func set(s strategy.Strategy) (names []string) {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			names = append(names, v.Type().Field(i).Name)
		}
	}
	return names
}

// Count counts features, and pairs of an option and an event, over programs.
type Count struct {
	Programs int
	of       map[string]int
	options  map[string]bool
	events   map[string]bool
}

// Add counts a program.
func (c *Count) Add(p Program) {
	if c.of == nil {
		c.of, c.options, c.events = map[string]int{}, map[string]bool{}, map[string]bool{}
	}
	c.Programs++
	options, events := p.Features()
	for _, o := range options {
		c.of[o]++
		c.options[o] = true
		for _, e := range events {
			c.of[o+" × "+e]++
		}
	}
	for _, e := range events {
		c.of[e]++
		c.events[e] = true
	}
}

// Drawn says whether a feature was drawn at all.
func (c *Count) Drawn(name string) bool { return c.of[name] > 0 }

// Rare are the features and pairs that were drawn less often than so many times in 10,000 programs, the rarest first.
func (c *Count) Rare(few int) (rare []string) {
	least := func(name string) {
		if c.of[name]*10_000 < few*c.Programs {
			rare = append(rare, fmt.Sprintf("%s %d", name, c.of[name]))
		}
	}
	for o := range c.options {
		least(o)
		for e := range c.events {
			if !impossible(o, e) {
				least(o + " × " + e)
			}
		}
	}
	for e := range c.events {
		least(e)
	}
	slices.Sort(rare)
	return rare
}

// impossible says whether an option and an event can't be in one program, or only in legs that have nothing to do with
// each other.
func impossible(option, event string) bool {
	local := option == "LocalSGD" || option == "AdaptiveLocalSGD" // without rows and servers
	if local && (event == "shrink" || event == "batch" || event == "all rows are dropped") {
		return true
	}
	switch event {
	case "shrink", "all rows are dropped", "batch":
		return option == "0 tables"
	case "a base leaves rows out": // of a table that counts shows, which has no place in geo
		return local || slices.Contains([]string{"0 tables", "kind geo", "KSteps", "GeoRest", "threads"}, option)
	case "from by init server", "from by worker", "from weights only": // which no leg of copies does
		return option == "threads" || option == "GeoRest"
	case "uneven epoch":
		return option == "1 workers" || option == "kind alone"
	}
	return false
}
