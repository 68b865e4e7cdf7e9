// S3job is a program for .ci/outside s3: it trains on rows in a bucket, and leaves all that it makes there.
//
//	go run ./.ci/s3job/main.go rows s3://bucket/train      # puts rows there, as two files of packed CSV
//	go run ./.ci/s3job/main.go score s3://bucket/out/model # loads a model from there, and scores a row
//	go run ./.ci/s3job/main.go -rows='s3://bucket/train/*.csv.gz' -out=s3://bucket/out -checkpoint=s3://bucket/own
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/store"
	"github.com/gofleet/gofleet/fleet/store/s3"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
)

func main() {
	if err := s3.Mount(s3.Options{PieceBytes: 8 << 20}); err != nil {
		log.Fatal(err)
	}
	if len(os.Args) == 3 && os.Args[1] == "rows" {
		must(putRows(os.Args[2]))
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "score" {
		must(score(os.Args[2]))
		return
	}
	o := &train.Options{Seed: 1, Batch: 100}
	rows := flag.String("rows", "", "where rows are")
	train.Main(o, func() (train.Job, error) { return newJob(*o, *rows), nil })
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// newJob learns whether two numbers have one sign, with a table that is large enough to go in pieces.
func newJob(o train.Options, rows string) train.Job {
	g := nn.NewGraph(o.Seed)
	x, id, y := g.Input("x", 2), g.IDs("id", 1), g.Input("y", 1)
	e := nn.Reshape(nn.Embedding(id, nn.EmbeddingOptions{Dim: 8, Height: 200_000}), 8)
	h := nn.Linear(nn.Concat(x, e), 16, nn.LinearOptions{Act: nn.Tanh})
	p := nn.Linear(h, 1, nn.LinearOptions{Act: nn.Sigmoid}).Named("p")
	return train.Job{
		Options: o,
		Loss:    nn.Mean(nn.LogLoss(p, y)),
		Rule:    o.AdamOrSGD(1e-2, 0.1),
		Metrics: []*nn.Node{nn.AUC(p, y)},
		Outputs: []*nn.Node{p},
		Files:   train.Files{Format: format(), Paths: []string{rows}},
	}
}

func format() dataset.Format {
	return dataset.CSV{Schema: []dataset.CSVColumn{
		{Column: dataset.Floats("x", 2), Fields: []string{"a", "b"}},
		{Column: dataset.IDs("id", 1), Fields: []string{"id"}},
		{Column: dataset.Floats("y", 1), Fields: []string{"y"}},
	}}
}

func putRows(dir string) error {
	random := rand.New(rand.NewPCG(1, 2))
	for file := range 2 {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		fmt.Fprintln(z, "a,b,id,y")
		for range 100_000 {
			a, c := random.Float64()*2-1, random.Float64()*2-1
			y := 0
			if a*c > 0 {
				y = 1
			}
			fmt.Fprintf(z, "%.4f,%.4f,%d,%d\n", a, c, random.IntN(200_000), y)
		}
		if err := z.Close(); err != nil {
			return err
		}
		s, name, err := store.Of(fmt.Sprintf("%s/part-%d.csv.gz", dir, file))
		if err != nil {
			return err
		}
		content := io.NewSectionReader(bytes.NewReader(b.Bytes()), 0, int64(b.Len()))
		if _, err := s.Put(context.Background(), name, content, store.Condition{}); err != nil {
			return err
		}
	}
	return nil
}

func score(dir string) error {
	s, err := serve.OpenScorer(dir, serve.ScorerOptions{})
	if err != nil {
		return err
	}
	got, err := s.ScoreJSON(context.Background(), []byte(`[{"x": [0.9, 0.9], "id": 1}, {"x": [0.9, -0.9], "id": 1}]`))
	if err != nil {
		return err
	}
	fmt.Printf("scores %.3f and %.3f of %s\n", got.Values[0][0], got.Values[0][1], s.Version())
	if got.Values[0][0] < 0.7 || got.Values[0][1] > 0.3 {
		return fmt.Errorf("a model that was trained scores otherwise")
	}
	return nil
}
