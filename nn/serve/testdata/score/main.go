// Score scores lines with a saved model.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/gofleet/gofleet/nn/serve"
)

func main() {
	s, err := serve.OpenScorer(os.Args[1], serve.ScorerOptions{})
	if err == nil {
		fmt.Println(s.ScoreLines(context.Background(), []byte(os.Args[2])))
	}
}
