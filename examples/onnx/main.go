package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gofleet/gofleet/nn/onnx"
	"github.com/gofleet/gofleet/nn/serve"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "onnx: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, says io.Writer) error {
	fs := flag.NewFlagSet("onnx", flag.ContinueOnError)
	model := fs.String("model", "output/wide_and_deep/model", "directory of a saved model")
	out := fs.String("out", "model.onnx", "file to write; large weights go to a second one, of the name with .data "+
		"behind")
	var deltas, outputs, rows names
	fs.Var(&deltas, "deltas", "directories of deltas of the model, with commas, each of which follows the one before")
	fs.Var(&outputs, "outputs", "names of what to compute, with commas; empty is all that the model was saved for")
	fs.Var(&rows, "rows", "names of embeddings, with commas, whose rows the caller brings")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; want flags only, see -h", fs.Arg(0))
	}
	m, err := serve.Load(*model, deltas...)
	if err != nil {
		return err
	}
	if err := onnx.Export(m, *out, onnx.Options{Outputs: outputs, Rows: rows}); err != nil {
		return err
	}
	fmt.Fprintf(says, "wrote %s: model %s\n", *out, m.Version())
	return nil
}

// names is a flag of names with commas between them.
type names []string

func (n *names) String() string { return strings.Join(*n, ",") }

// Set implements [flag.Value].
func (n *names) Set(text string) error {
	*n = nil
	if text != "" {
		*n = strings.Split(text, ",")
	}
	return nil
}
