package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/optimizer/weights"
)

// saveVectors writes the words with their vectors as word2vec does, beside the model.
func saveVectors(ctx context.Context, f *fleet.Fleet, dir string, words []string) error {
	file, err := os.Create(filepath.Join(dir, "words.bin"))
	if err != nil {
		return err
	}
	return errors.Join(weights.Word2Vec{Words: words}.Write(file, f.Rows(ctx, "emb")), file.Close())
}
