// Package clicks makes up a log of advertisements that were shown and perhaps clicked. It stands for the logs that
// recommenders learn from, which are seldom free to use: its examples have slots of varying length, ids that are
// hashed, and frequencies that fall as in life. And since it is made up, it is known how well clicks can be foretold at
// all.
//
//	rows := clicks.Generate(seed, 100_000)
//
// Every user and every item has a topic or two; who is shown an item of a topic of his clicks more often, and so does
// who searched for it just before. A row tells neither topic: they have to be learned from what a user clicked before,
// what he searched for, and how an item is tagged.
package clicks

import (
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/gofleet/gofleet/dataset"
)

// Height is the number of ids: tokens of all slots are hashed below it.
const Height = 100_003

// The slots, in the order of [Slots].
const (
	user = iota
	history
	query
	item
	tags
	hour
)

// Slots names the columns of varying length: the user, up to 20 items clicked before, up to 5 terms of a search, the
// item shown, up to 4 tags of it, and the hour.
func Slots() []string { return []string{"user", "history", "query", "item", "tags", "hour"} }

// Label is the column, float32 [N,1], that is 1 for a click. Chance, also float32 [N,1], is the probability that the
// click was drawn with: no model can do better than that.
const (
	Label  = "click"
	Chance = "chance"
)

const (
	topics = 8
	users  = 1000
	items  = 400
	terms  = 12 // of each topic; the first is shared by all
)

// Generate makes n rows: a function of the seed.
func Generate(seed uint64, n int) *dataset.Dataset {
	var columns []dataset.Column
	for _, name := range Slots() {
		columns = append(columns, dataset.Varying(dataset.Ints(name)))
	}
	columns = append(columns, dataset.Floats(Label, 1), dataset.Floats(Chance, 1))
	return dataset.Generate(n, func(i int, row dataset.Row) error {
		g := &generator{row: row, Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		g.fill()
		return nil
	}, columns...)
}

// generator fills one row.
type generator struct {
	*rand.Rand
	row dataset.Row
}

func (g *generator) fill() {
	who, what, when := g.zipf(users), g.zipf(items), g.IntN(24)
	g.add(user, "u", who)
	for range g.IntN(21) {
		g.add(history, "i", g.itemOf(g.interest(who)))
	}
	wanted := g.IntN(topics)
	if g.Float64() < 0.5 {
		wanted = g.interest(who)
	}
	for range 1 + g.IntN(5) {
		g.add(query, "q", g.word(wanted))
	}
	g.add(item, "i", what)
	g.tag(what)
	g.add(hour, "h", when)
	p := chance(who, what, wanted, when)
	g.row.Floats(hour + 2)[0] = float32(p)
	if g.Float64() < p {
		g.row.Floats(hour + 1)[0] = 1
	}
}

func (g *generator) add(slot int, kind string, token int) {
	g.row.AppendInt(slot, dataset.HashID(kind, strconv.Itoa(token), Height))
}

// zipf draws a number below n; the k-th is about 1/k as frequent as the first.
func (g *generator) zipf(n int) int { return min(n, int(math.Pow(float64(n+1), g.Float64()))) - 1 }

// interest is one of the two topics of a user, mostly the first.
func (g *generator) interest(who int) int {
	first, second := interests(who)
	if g.Float64() < 0.7 {
		return first
	}
	return second
}

// itemOf draws an item of a topic.
func (g *generator) itemOf(topic int) int { return g.zipf(items/topics)*topics + topic }

// word draws a term or tag of a topic, or one that all share.
func (g *generator) word(topic int) int {
	w := g.zipf(terms)
	if w == 0 {
		return 0
	}
	return topic*terms + w
}

// tag adds the tags of an item, which are always the same.
func (g *generator) tag(what int) {
	own := generator{Rand: rand.New(rand.NewPCG(uint64(what), 1))}
	for range 1 + own.IntN(4) {
		g.add(tags, "t", own.word(topicOf(what)))
	}
}

func topicOf(what int) int { return what % topics }

// interests are a user's topics.
func interests(who int) (first, second int) {
	r := rand.New(rand.NewPCG(uint64(who), 2))
	return r.IntN(topics), r.IntN(topics)
}

// chance is the probability of a click.
func chance(who, what, wanted, when int) float64 {
	first, second := interests(who)
	x := -2.4 + 0.5*rand.New(rand.NewPCG(uint64(what), 3)).NormFloat64() // some items please more than others
	switch topicOf(what) {
	case first:
		x += 2.4
	case second:
		x += 1.4
	}
	if topicOf(what) == wanted {
		x += 1.5
	}
	if when >= 19 {
		x += 0.4
	}
	return 1 / (1 + math.Exp(-x))
}
