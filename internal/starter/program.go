package starter

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// program is the program to write.
type program struct {
	data, tested, module string // tested is "" if a part of data is to test on
	days                 string // "" if rows don't come by the day
	rows                 *rows
	label                *field
	numbers, categories  []*field
	lists, vectors       []*field
	crosses              []*field // of two categories
	crossed              int      // values of crosses that were seen
	left                 []omission
	task                 task
	classes              int
	values               []string // of a label of texts, or of two numbers other than 0 and 1
}

// lines collects lines of text.
type lines struct{ strings.Builder }

func (l *lines) add(format string, args ...any) { fmt.Fprintf(l, format+"\n", args...) }

// manyRows is from how many rows on a larger rate is as exact, and many epochs pay as long as the loss falls; of someRows
// and more, up to that, a net twice as wide learns more.
const someRows, manyRows = 10_000, 100_000

// main is the text of main.go.
func (p *program) main() string {
	var l lines
	l.add("// Command %s trains a model that predicts %s from the other fields of a row.", said(p.module),
		said(p.label.name))
	l.add("//")
	l.add("//\tgo run . -check      look at the rows and the net before training")
	l.add("//\tgo run .             train; -h lists the flags")
	if len(p.left) > 0 {
		l.add("//\n// Fields that the model does not see, by a look at %d rows:\n//", p.rows.count)
	}
	for _, why := range p.leftOut() {
		l.add("//   - %s", said(why))
	}
	l.add(`package main

import (
	"flag"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)
`)
	if p.format(&l); p.days != "" {
		p.daysMain(&l)
		p.job(&l)
		return l.String()
	}
	share, test, held, latest := "; a tenth of them is to test on", "", "HeldOut: 0.1", ""
	switch {
	case p.tested != "":
		share, test, held = "", fmt.Sprintf("\ttest := flag.String(\"test\", %q, \"rows to test on\")\n", p.tested),
			"Test: []string{*test}"
	case p.rows.when != "":
		latest = fmt.Sprintf(" // LastBy: %q tests on the latest rows", p.rows.when)
	}
	options, flags := "", "-batch, -epochs and -patience follow from the rows"
	if p.rows.total >= manyRows {
		options, flags = "Epochs: 20, Patience: 3, ", "defaults of the flags; -batch follows from the rows"
	}
	l.add(`
func main() {
	o := train.Options{%sOut: "output"} // %s
	file := flag.String("data", %q, "rows to train on%s")
%s	linear := flag.Bool("linear", false, "train the linear model alone, into output/linear")
	o.Parse()
	if *linear {
		o.Out += "/linear"
	}
	files := train.Files{Format: format, Paths: []string{*file}, %s}%s
	train.Main(&o, func() (train.Job, error) {
		j := job(o, files, *linear)
		if !*linear {
			j.Linear = new(job(o, files, true)) // to compare with
		}
		return j, nil
	})
}
`, options, flags, p.data, share, test, held, latest)
	p.job(&l)
	return l.String()
}

// said makes a text of the file fit into a comment: without unprintable characters, and without two single quotes,
// which gofmt replaces.
func said(text string) string {
	seen := strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) || unicode.IsSpace(c) {
			return c
		}
		return '?'
	}, strings.ToValidUTF8(text, "?"))
	text = strings.NewReplacer("``", `"`, "''", `"`).Replace(strings.Join(strings.Fields(seen), " "))
	return cmp.Or(text, "?")
}

// short writes a number to a ten thousandth of a deviation, as a Go constant that is not an integer.
func short(x, deviation float64) string {
	digits := 4 + int(max(0, math.Ceil(math.Log10(max(math.Abs(x), deviation)/deviation))))
	s := strconv.FormatFloat(x, 'g', min(digits, 17), 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// format writes the format: how the fields become columns.
func (p *program) format(l *lines) {
	kind, dialect := "CSV", ""
	if p.rows.json {
		kind = "JSONLines"
	} else if p.rows.comma != ',' {
		dialect = fmt.Sprintf("Comma: %q, ", p.rows.comma)
	}
	if p.rows.trim {
		dialect += "Trim: true, "
	}
	l.add("// format says what becomes of the fields of a row. It is saved with the model, which then scores raw rows.")
	nas := "dataset.UsualNAs()"
	if codes := p.codes(); codes != nil {
		nas = fmt.Sprintf("append(dataset.UsualNAs(), %s)", literals(codes))
	}
	p.derived(l, fmt.Sprintf("var format = dataset.%s{%sNAs: %s, ", kind, dialect, nas))
	if len(p.numbers) > 0 {
		l.add("\t// Numbers around 0, by mean and deviation of %d rows; a missing number is the mean.", p.rows.count)
		if slices.ContainsFunc(p.numbers, func(f *field) bool { return slices.Contains(p.categories, f) }) {
			l.add("\t// Whole numbers of which each tells of the label what its size does not are categories too.")
		}
		l.add("\t{Column: dataset.Floats(\"numbers\", %d), Fields: []string{", len(p.numbers))
		l.add("\t\t%s,", names(p.numbers))
		l.add("\t}, Missing: \"0\", Scale: []dataset.Scaling{")
		wide := 0
		for _, f := range p.numbers {
			wide = max(wide, len(f.scale().scaling()))
		}
		for _, f := range p.numbers {
			l.add("\t\t%-*s // %s", wide+1, f.scale().scaling()+",", said(f.name))
		}
		l.add("\t}},")
	}
	if len(p.categories)+len(p.crosses) > 0 {
		l.add("\t{Column: dataset.Ints(\"categories\", %d), Fields: []string{%s}, Hash: categories},",
			len(p.categories)+len(p.crosses), names(slices.Concat(p.categories, p.crosses)))
	}
	for _, f := range p.vectors {
		l.add("\t{Column: dataset.Floats(%q, %d)%s, Missing: \"0\", Scale: []dataset.Scaling{%s}},", p.feed(f),
			f.lists.longest, p.from(f), f.lists.of.scale().scaling())
	}
	for _, f := range p.lists {
		how := ""
		if !f.lists.ids() {
			how = ", Hash: categories"
		}
		if f.lists.separator != "" {
			how += fmt.Sprintf(", Separator: %q", f.lists.separator)
		}
		l.add("\t{Column: dataset.Varying(dataset.Ints(%q))%s%s},", p.feed(f), p.from(f), how)
	}
	kind = "Floats"
	if p.task == class {
		kind = "Ints"
	}
	if p.rows.when != "" {
		l.add("\t{Column: dataset.Ints(%q), Missing: \"0\"}, // for LastBy: no node takes it", p.rows.when)
	}
	how := ""
	switch {
	case p.values != nil:
		how = fmt.Sprintf(", Values: %#v", p.values)
	case p.task == amount:
		how = ", Scale: []dataset.Scaling{unit}"
	}
	l.add("\t{Column: dataset.%s(\"label\"), Fields: []string{%q}%s},", kind, p.label.name, how)
	l.add("}}")
	if p.task == amount {
		l.add("\n// unit makes labels numbers around 0, as the net predicts them; train.Unscaled makes them amounts.")
		l.add("var unit = dataset.Scaling%s", p.label.scaled(false).scaling())
	}
	if p.hashes() {
		l.add("\n// categories is how many rows the table has that texts are hashed into.")
		l.add("const categories = %s", grouped(p.height()))
	}
}

// derived writes the beginning of a format, with the fields that are derived from others.
func (p *program) derived(l *lines, begin string) {
	if len(p.rows.derived) == 0 {
		l.add("%sSchema: []dataset.CSVColumn{", begin)
		return
	}
	var crosses lines
	l.add("%sDerived: []dataset.Derived{", begin)
	for _, d := range p.rows.derived {
		if d.Buckets != nil {
			crosses.add("\t{Name: %q, From: []string{%q}, Buckets: %#v},", d.Name, d.From[0], d.Buckets)
			continue
		}
		if d.Part == "" {
			crosses.add("\t{Name: %q, From: []string{%q, %q}},", d.Name, d.From[0], d.From[1])
			continue
		}
		layout := ""
		if d.Layout != "" {
			layout = fmt.Sprintf(", Layout: %q", d.Layout)
		}
		l.add("\t{Name: %q, From: []string{%q}, Part: dataset.%s%s},", d.Name, d.From[0], constant(d.Part), layout)
	}
	if crosses.Len() > 0 {
		what := "Numbers in buckets"
		if len(p.crosses) > 0 {
			what = "What two fields tell of the label together that neither tells alone"
		}
		l.add("\t// %s.\n%s", what, strings.TrimSuffix(crosses.String(), "\n"))
	}
	l.add("}, Schema: []dataset.CSVColumn{")
}

func names(fields []*field) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return literals(names)
}

// literals are texts as a list of Go literals.
func literals(texts []string) string {
	var quoted []string
	for _, text := range texts {
		quoted = append(quoted, strconv.Quote(text))
	}
	return strings.Join(quoted, ", ")
}

// codes are the texts that mean no value in some field of numbers.
func (p *program) codes() (codes []string) {
	for _, f := range p.numbers {
		codes = append(codes, f.codes...)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// scaling writes the expression that scales numbers to around 0.
func (s scale) scaling() string {
	log := ""
	if s.log {
		log = "Log1p: true, "
	}
	return fmt.Sprintf("{%sMean: %s, Std: %s}", log, short(s.mean, s.deviation), short(s.deviation, s.deviation))
}

// height gives twenty places to each category seen, so that few of them share a row.
func (p *program) height() int {
	seen := p.crossed
	for _, f := range p.categories {
		seen += len(f.values)
	}
	for _, f := range p.lists {
		seen += len(f.lists.of.values)
	}
	height := 10_000
	for height < 20*seen {
		height *= 10
	}
	return height
}

func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "_" + s[i:]
	}
	return s
}

// job writes the net and its training.
func (p *program) job(l *lines) {
	if p.days == "" {
		l.add("// job is the net, its loss, and what is measured on the test rows.")
		l.add("func job(o train.Options, files train.Files, linear bool) train.Job {")
	} else {
		l.add("// job is the net, its loss, and what is measured on the rows of a day before they are trained on.")
		l.add("func job(o train.Options, days train.Days) train.Job {")
	}
	l.add("\tg := nn.NewGraph(o.Seed)")
	if p.hashes() {
		l.add("\ttable := nn.EmbeddingOptions{Name: \"table\", Height: categories, Dim: 8}")
	}
	l.add("\tin := nn.Concat(")
	if n := len(p.numbers); n > 0 {
		l.add("\t\tnn.Clip(g.Input(\"numbers\", %d), -%d, %[2]d), // further out than training rows tell of", n,
			mostDeviations)
	}
	for _, f := range p.vectors {
		l.add("\t\tg.Input(%q, %d),", p.feed(f), f.lists.longest)
	}
	if n := len(p.categories) + len(p.crosses); n > 0 {
		l.add("\t\tnn.Embedding(g.IDs(\"categories\", %d), table),", n)
	}
	for _, f := range p.lists {
		l.add("\t\t%s,", p.pooled(f))
	}
	l.add("\t)")
	drop := "\n\thidden = nn.Dropout(hidden, 0.2)"
	if p.task == amount { // which dropout makes less exact
		drop = ""
	}
	width := 128
	if p.rows.total >= someRows && p.rows.total < manyRows {
		width = 256
	}
	l.add("\thidden := nn.Linear(in, %d, nn.LinearOptions{Act: nn.ReLU})%s", width, drop)
	l.add("\thidden = nn.Linear(hidden, %d, nn.LinearOptions{Act: nn.ReLU})%s", width/2, drop)
	rate := "1e-3"
	if p.rows.total >= manyRows {
		rate = "3e-3"
	}
	if p.days != "" {
		l.add("\trate := %s", rate)
		p.head(l)
		l.add("\t\tFiles:   train.Files{Format: format},\n\t\tDays:    &days,\n\t}\n}")
		return
	}
	l.add("\trate := %s\n\tif linear {\n\t\thidden, rate = in, 1e-2\n\t}", rate)
	p.head(l)
	l.add("\t\tFiles:   files,\n\t}\n}")
}

// hashes reports whether there are texts, or crosses, that become ids of the table.
func (p *program) hashes() bool {
	return len(p.categories)+len(p.crosses) > 0 ||
		slices.ContainsFunc(p.lists, func(f *field) bool { return !f.lists.ids() })
}

// pooled writes the node that combines a list's rows into one.
func (p *program) pooled(f *field) string {
	pool, table := "PoolMean", "table"
	if f.lists.ids() {
		table = fmt.Sprintf("nn.EmbeddingOptions{Name: %q, Dim: 8}", p.feed(f)+" table")
	}
	if zero := f.lists.padding(); zero != "" {
		pool = "PoolMeanUnpadded"
		table = strings.TrimSuffix(table, "}") + fmt.Sprintf(", PaddingIdx: new(int64(%s))}", zero)
	}
	return fmt.Sprintf("nn.EmbeddingPool(g.Slot(%q), nn.%s, %s)", p.feed(f), pool, table)
}

// feed is the name of the column for a field alone: the field's name, unless the program uses that otherwise.
func (p *program) feed(f *field) string {
	name := f.name
	for slices.Contains(taken, name) || name == p.rows.when || strings.HasSuffix(name, " table") ||
		strings.HasSuffix(name, ".offsets") {
		name = p.rows.free(name + "_")
	}
	return name
}

// taken are the names that programs give to their feeds, their table and their outputs. The table of a list, and the
// offsets of a feed of lists, are named after it.
var taken = []string{"numbers", "categories", "label", "table", "chance", "chances", "amount"}

// from writes the column's field, if the column does not have its name.
func (p *program) from(f *field) string {
	if p.feed(f) == f.name {
		return ""
	}
	return fmt.Sprintf(", Fields: []string{%q}", f.name)
}

// head writes the last layer, the loss and the metrics.
func (p *program) head(l *lines) {
	loss, metrics, output := "", "", ""
	switch p.task {
	case chance:
		l.add(`	label := g.Input("label", 1)
	chance := nn.Linear(hidden, 1, nn.LinearOptions{Act: nn.Sigmoid}).Named("chance")`)
		loss, metrics, output = "nn.Mean(nn.BinaryCrossEntropy(chance, label))", "nn.AUC(chance, label)", "chance"
	case class:
		l.add(`	label := g.IDs("label", 1)
	logits := nn.Linear(hidden, %d, nn.LinearOptions{})
	chances := nn.Softmax(logits).Named("chances")`, p.classes)
		loss = "nn.Mean(nn.SoftmaxWithCrossEntropyOf(logits, label, nn.CrossEntropyOptions{Smoothing: 0.05}))"
		metrics, output = "nn.Accuracy(chances, label)", "chances"
	case amount:
		l.add(`	label := g.Input("label", 1)
	predicted := nn.Clip(nn.Linear(hidden, 1, nn.LinearOptions{}), -%d, %[1]d)
	amount, actual := train.Unscaled(predicted, unit).Named("amount"), train.Unscaled(label, unit)`, mostDeviations)
		loss = "nn.Mean(nn.SquareError(predicted, label))"
		metrics, output = "nn.MAE(amount, actual), nn.RMSE(amount, actual)", "amount"
	}
	l.add(`	return train.Job{
		Options: o,
		Loss:    %s,
		Rule:    optimizer.Adam{LR: o.Rate(rate)},
		Metrics: []*nn.Node{%s},
		Outputs: []*nn.Node{%s},`, loss, metrics, output)
}
