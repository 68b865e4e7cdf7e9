package parquet_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/dataset/parquet"
)

// Columns of a file become the feeds of a model.
func ExampleFromFiles() {
	rows, err := parquet.FromFiles([]dataset.CSVColumn{
		{Column: dataset.Floats("numbers", 2), Fields: []string{"distance", "hour"}, Missing: "0"},
		{Column: dataset.Ints("names", 2), Fields: []string{"carrier", "dest"}, Hash: 1_000_001},
		{Column: dataset.Floats("late")},
	}, "flights-0.parquet", "flights-1.parquet").Load(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for batch, err := range rows.Shuffle(1).Batches(512) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch["numbers"].Shape())
	}
}
