package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/optimizer/weights"
)

// hooks save the vectors of the words with each model, and say at the job's end which words are near each other.
func hooks(net model, words []string) train.Hooks {
	return train.Hooks{
		Saved: func(ctx context.Context, r *train.Run, dir string) error {
			return saveVectors(ctx, r.Fleet, dir, words)
		},
		End: func(ctx context.Context, r *train.Run) error {
			if !r.Leads() {
				return nil
			}
			near, err := vectors(ctx, net, words)
			if err == nil {
				near.report(r.Job.Stdout)
			}
			return err
		},
	}
}

// saveVectors writes the words with their vectors as word2vec does, beside the model.
func saveVectors(ctx context.Context, f *fleet.Fleet, dir string, words []string) error {
	file, err := os.Create(filepath.Join(dir, "words.bin"))
	if err != nil {
		return err
	}
	return errors.Join(weights.Word2Vec{Words: words}.Write(file, f.Rows(ctx, "emb")), file.Close())
}
