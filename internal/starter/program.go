package starter

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// program is what is written.
type program struct {
	data, module        string
	rows                *rows
	label               *field
	numbers, categories []*field
	left                []string // fields that are left out, and why
	task                task
	classes             int
}

// lines are written one after the other.
type lines struct{ strings.Builder }

func (l *lines) add(format string, args ...any) { fmt.Fprintf(l, format+"\n", args...) }

// main is the text of main.go.
func (p *program) main() string {
	var l lines
	l.add("// Command %s trains a model that foretells %s from the other fields of a row.", said(p.module),
		said(p.label.name))
	l.add("//")
	l.add("//\tgo run . -check      look at the rows and the net before training")
	l.add("//\tgo run .             train; -h lists the flags")
	if len(p.left) > 0 {
		l.add("//\n// Fields that the model does not see, by a look at %d rows:\n//", p.rows.count)
	}
	for _, why := range p.left {
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
	p.format(&l)
	l.add(`
func main() {
	o := train.Options{Batch: %d, Epochs: 3, Out: "output"} // what the flags begin with
	file := flag.String("data", %q, "rows to train on; a fifth of them is to test on")
	train.Main(&o, func() (train.Job, error) { return job(o, *file), nil })
}
`, p.batch(), p.data)
	p.job(&l)
	return l.String()
}

// batch is smaller where rows are few.
func (p *program) batch() int {
	if p.rows.count < sampled {
		return 64
	}
	return 512
}

// said is a text of the file within a comment.
func said(text string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
}

// short is a number to a ten thousandth of a deviation, as Go has one that is no integer.
func short(x, deviation float64) string {
	digits := 4 + int(max(0, math.Ceil(math.Log10(max(math.Abs(x), deviation)/deviation))))
	s := strconv.FormatFloat(x, 'g', min(digits, 17), 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// format writes what becomes of the fields.
func (p *program) format(l *lines) {
	kind, comma := "CSV", ""
	if p.rows.json {
		kind = "JSONLines"
	} else if p.rows.comma != ',' {
		comma = fmt.Sprintf("Comma: %q, ", p.rows.comma)
	}
	l.add("// format says what becomes of the fields of a row. A saved model carries it, so that such rows can ask it.")
	p.derived(l, fmt.Sprintf("var format = dataset.%s{%sNAs: dataset.UsualNAs(), ", kind, comma))
	if len(p.numbers) > 0 {
		l.add("\t// Numbers around 0, by mean and deviation of %d rows; a missing number is the mean.", p.rows.count)
		l.add("\t{Column: dataset.Floats(\"numbers\", %d), Fields: []string{", len(p.numbers))
		l.add("\t\t%s,", names(p.numbers))
		l.add("\t}, Missing: \"0\", Scale: []dataset.Scaling{")
		wide := 0
		for _, f := range p.numbers {
			wide = max(wide, len(f.scaling()))
		}
		for _, f := range p.numbers {
			l.add("\t\t%-*s // %s", wide+1, f.scaling()+",", said(f.name))
		}
		l.add("\t}},")
	}
	if len(p.categories) > 0 {
		l.add("\t{Column: dataset.Ints(\"categories\", %d), Fields: []string{%s}, Hash: categories},",
			len(p.categories),
			names(p.categories))
	}
	kind = "Floats"
	if p.task == class {
		kind = "Ints"
	}
	if p.rows.when != "" {
		l.add("\t{Column: dataset.Ints(%q), Missing: \"0\"}, // for LastBy: no node takes it", p.rows.when)
	}
	l.add("\t{Column: dataset.%s(\"label\"), Fields: []string{%q}},", kind, p.label.name)
	l.add("}}")
	if len(p.categories) > 0 {
		l.add("\n// categories is how many rows the table has that texts are hashed into.")
		l.add("const categories = %s", grouped(p.height()))
	}
}

// derived writes the beginning of a format, with the fields that are made of others.
func (p *program) derived(l *lines, begin string) {
	if len(p.rows.derived) == 0 {
		l.add("%sSchema: []dataset.CSVColumn{", begin)
		return
	}
	l.add("%sDerived: []dataset.Derived{", begin)
	for _, d := range p.rows.derived {
		layout := ""
		if d.Layout != "" {
			layout = fmt.Sprintf(", Layout: %q", d.Layout)
		}
		l.add("\t{Name: %q, From: []string{%q}, Part: dataset.%s%s},", d.Name, d.From[0], constant(d.Part), layout)
	}
	l.add("}, Schema: []dataset.CSVColumn{")
}

func names(fields []*field) string {
	var names []string
	for _, f := range fields {
		names = append(names, strconv.Quote(f.name))
	}
	return strings.Join(names, ", ")
}

// scaling is what makes the field's numbers ones around 0.
func (f *field) scaling() string {
	log, m := "", f.plain
	if f.skewed() {
		log, m = "Log1p: true, ", f.logs
	}
	mean, deviation := m.of()
	return fmt.Sprintf("{%sMean: %s, Std: %s}", log, short(mean, deviation), short(deviation, deviation))
}

// height leaves twenty places for each category that was seen, so that few of them share a row.
func (p *program) height() int {
	seen := 0
	for _, f := range p.categories {
		seen += len(f.values)
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

// job writes the net and how it is trained.
func (p *program) job(l *lines) {
	l.add("// job is the net, its loss, and what is measured on the test rows.")
	l.add("func job(o train.Options, file string) train.Job {")
	l.add("\tg := nn.NewGraph(o.Seed)")
	var in []string
	if len(p.numbers) > 0 {
		l.add("\tnumbers := g.Input(\"numbers\", %d)", len(p.numbers))
		in = append(in, "numbers")
	}
	if len(p.categories) > 0 {
		l.add("\trows := nn.Embedding(g.IDs(\"categories\", %d), nn.EmbeddingOptions{Height: categories, Dim: 8})",
			len(p.categories))
		in = append(in, "rows")
	}
	from := in[0]
	if len(in) > 1 {
		from = "nn.Concat(" + strings.Join(in, ", ") + ")"
	}
	l.add("\thidden := nn.Linear(%s, 64, nn.LinearOptions{Act: nn.ReLU})", from)
	l.add("\thidden = nn.Linear(hidden, 32, nn.LinearOptions{Act: nn.ReLU})")
	p.head(l)
	latest := ""
	if p.rows.when != "" {
		latest = fmt.Sprintf(" // LastBy: %q tests on the latest rows", p.rows.when)
	}
	l.add(`		Files:   train.Files{Format: format, Paths: []string{file}},%s
	}
}`, latest)
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
		loss, metrics, output = "nn.Mean(nn.SoftmaxWithCrossEntropy(logits, label))", "nn.Accuracy(chances, label)",
			"chances"
	case amount:
		mean, deviation := p.label.plain.of()
		l.add(`	label := g.Input("label", 1)
	// The net foretells a number around 0, which is scaled to the label's.
	const mean, deviation = %s, %s
	amount := nn.Scale(nn.Linear(hidden, 1, nn.LinearOptions{}), deviation, mean).Named("amount")`,
			short(mean, deviation), short(deviation, deviation))
		loss = "nn.Scale(nn.Mean(nn.SquareError(amount, label)), 1/(deviation*deviation), 0)"
		metrics, output = "nn.MAE(amount, label), nn.RMSE(amount, label)", "amount"
	}
	l.add(`	return train.Job{
		Options: o,
		Loss:    %s,
		Rule:    optimizer.Adam{LR: o.Rate(1e-3)},
		Metrics: []*nn.Node{%s},
		Outputs: []*nn.Node{%s},`, loss, metrics, output)
}
