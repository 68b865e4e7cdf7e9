package train

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// TestScaledLabels: of a label that the schema scales training's last lines, -eval and -check speak in its own unit, and the saved model's
// outputs are in it: their error, measured by hand, is the metric's. Logarithms too.
func TestScaledLabels(t *testing.T) {
	t.Parallel()
	law.Slow(t)
	const rows = 300
	price := func(i int) float64 { return math.Round(200_000 + 50_000*math.Sin(float64(i)) + 9000*float64(i%7)) }
	dir, text, mean, logs, least, most := t.TempDir(), "x,day,price\n", 0.0, 0.0, math.Inf(1), 0.0
	for i := range rows {
		text += fmt.Sprintf("%v,%d,%v\n", math.Sin(float64(i)), i%7, price(i))
		mean, logs = mean+price(i)/rows, logs+math.Log1p(price(i))/rows
		least, most = min(least, price(i)), max(most, price(i))
	}
	path := filepath.Join(dir, "rows.csv")
	law.Check(t, os.WriteFile(path, []byte(text), 0o600))
	for always, unit := range map[float64]dataset.Scaling{mean: {Mean: 228_000, Std: 35_000}, math.Expm1(logs): {Log1p: true, Mean: 12.2, Std: 0.2}} {
		run := func(args ...string) string {
			var said bytes.Buffer
			o, err := parsed(append(args, "-out="+filepath.Join(dir, fmt.Sprint("out", unit.Log1p)), "-epochs=40", "-batch=16")...)
			law.Check(t, err)
			o.predictions = &said
			law.Check(t, start(&o, nil, func() (Job, error) {
				g := nn.NewGraph(1)
				predicted, label := nn.Linear(g.Input("in", 2), 1, nn.LinearOptions{}), g.Input("price", 1)
				amount, actual := Unscaled(predicted, unit).Named("amount"), Unscaled(label, unit)
				return Job{Options: o, Stdout: &said, Loss: nn.Mean(nn.SquareError(predicted, label)), Rule: optimizer.Adam{LR: 0.02},
					Metrics: []*nn.Node{nn.RMSE(amount, actual)}, Outputs: []*nn.Node{amount},
					Files: Files{Paths: []string{path}, Test: []string{path}, Format: dataset.CSV{Schema: []dataset.CSVColumn{
						{Column: dataset.Floats("in", 2), Fields: []string{"x", "day"}}, {Column: dataset.Floats("price"), Scale: []dataset.Scaling{unit}}}}}}, nil
			}))
			return said.String()
		}
		squares, trained, said := 0.0, run(), run("-eval="+path)
		for i, line := range strings.Split(strings.TrimSpace(run("-predict="+path)), "\n")[1:] {
			amount, err := strconv.ParseFloat(line, 64)
			law.Check(t, err)
			squares += (amount - price(i)) * (amount - price(i)) / rows
		}
		var eval, constant, loss, its, told float64
		_, at, _ := strings.Cut(said, ", rmse ")
		fmt.Sscanf(at, "%f\nalways %f: loss %f, rmse %f", &eval, &constant, &loss, &its)
		if root := math.Sqrt(squares); math.Abs(eval/root-1) > 1e-3 || root > 20_000 {
			t.Errorf("%+v: -eval says an error of %v, and predictions have %v", unit, eval, root)
		}
		_, at, _ = strings.Cut(trained, "(always ")
		if fmt.Sscanf(at, "%f", &told); math.Abs(constant/always-1) > 1e-5 || math.Abs(told/always-1) > 1e-5 || its < 20_000 {
			t.Errorf("%+v: the constant is %v with an error of %v, after training %v; want %v", unit, constant, its, told, always)
		}
		label := strings.Fields(strings.SplitAfter(run("-check"), "price ")[1])
		for i, want := range []float64{mean, 0, least, most} {
			if got, err := strconv.ParseFloat(label[1+i], 64); !unit.Log1p && (err != nil || i == 1 && math.Abs(got-40_000) > 5000 || i != 1 && math.Abs(got/want-1) > 1e-3) {
				t.Errorf("-check says of the label %v, want %v at %d", label, want, i)
			}
		}
	}
}
