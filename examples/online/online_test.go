package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/examples/internal/jobtest"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn/serve"
)

// TestDaysOfALog trains three days, alone and on 2 servers and 2 workers, and scores what was published.
func TestDaysOfALog(t *testing.T) {
	law.Slow(t)
	logs := t.TempDir()
	law.Check(t, makeLog(logs, 3, 8000))
	for _, k := range jobtest.Kinds(t, 64) {
		t.Run(k.Name, func(t *testing.T) {
			dir := t.TempDir()
			serving := filepath.Join(dir, "serving")
			args := append(k.Args, "-logs="+logs, "-last=0403", "-out="+dir, "-checkpoint="+dir+"/checkpoints", "-serving="+serving)
			res, said := jobtest.Run(t, k.Servers, k.Workers, program, args...)
			auc := 0.0
			for _, e := range res.History {
				if v, judged := e.Values["test AUC"]; judged {
					auc = v
				}
			}
			if auc < .58 || !strings.Contains(said, "\n0403 ") {
				t.Errorf("AUC %.4f before the third day; worker 0 said\n%s", auc, said)
			}
			if _, err := os.Stat(filepath.Join(serving, "done", "0403.json")); err != nil {
				t.Error(err)
			}
			s, err := serve.OpenScorer(serving, serve.ScorerOptions{})
			law.Check(t, err)
			defer s.Close()
			if got, err := s.ScoreLines(t.Context(), []byte("1 0 1 7 1 1048580 1 1073741824 1 1048581\n")); err != nil || len(got.Values[0]) != 1 {
				t.Errorf("%v, error %v", got, err)
			}
		})
	}
}
