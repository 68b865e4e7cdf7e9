package dataset_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
)

// Sentences with a label in front become multi-slot text: what a program that is a PipeCommand does with standard input.
func ExampleMultiSlotDataGenerator() {
	g := dataset.MultiSlotDataGenerator{Generate: func(line string, emit func(...dataset.Slot) error) error {
		label, sentence, ok := strings.Cut(line, "\t")
		if !ok {
			return fmt.Errorf("want label, tab and sentence, got %q", line)
		}
		words := dataset.Slot{Name: "words"}
		for word := range strings.FieldsSeq(sentence) {
			words.Ints = append(words.Ints, dataset.HashID("words", word, 1000))
		}
		if words.Ints == nil {
			words.Ints = []int64{0} // a slot can't be empty
		}
		return emit(words, dataset.Slot{Name: "label", Floats: []float32{float32(len(label))}})
	}}
	if err := g.Run(strings.NewReader("+\tgood food\n\t\n"), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 2 871 642 1 1
	// 1 0 1 0
}

// TestGeneratorAndParser writes samples and reads them back.
func TestGeneratorAndParser(t *testing.T) {
	var text strings.Builder
	g := dataset.MultiSlotDataGenerator{Generate: func(line string, emit func(...dataset.Slot) error) error {
		for i := range len(line) {
			err := emit(dataset.Slot{Name: "ids", Ints: []int64{int64(i), 1 << 60}}, dataset.Slot{Name: "y", Floats: []float32{0.1 * float32(i)}})
			if err != nil {
				return err
			}
		}
		return nil
	}}
	law.Check(t, g.Run(strings.NewReader("aa\n\nb\n"), &text))
	format := dataset.MultiSlot{Slots: []dataset.SlotColumn{{Column: dataset.Ints("ids", 2)}, {Column: dataset.Floats("y")}}}
	for batch, err := range dataset.FromReader(strings.NewReader(text.String()), "text", format).Batches(9) {
		law.Check(t, err)
		if got := fmt.Sprint(batch["ids"].Int64s(), batch["y"].Float32s()); got != "[0 1152921504606846976 1 1152921504606846976 0 1152921504606846976] [0 0.1 0]" {
			t.Error(got)
		}
	}
}

func TestGeneratorErrors(t *testing.T) {
	slot := func(name string, v ...int64) dataset.Slot { return dataset.Slot{Name: name, Ints: v} }
	broken := errors.New("broken pipe")
	for _, c := range []struct {
		samples [][]dataset.Slot
		words   string
	}{
		{[][]dataset.Slot{{}}, "line 1: a sample has no slots"},
		{[][]dataset.Slot{{slot("a", 1)}, {slot("a")}}, `line 2: slot "a" has no values: pad it`},
		{[][]dataset.Slot{{slot("a", 1)}, {slot("a", 1), slot("b", 1)}}, `line 2: the sample has 2 slots, the first one 1: ["a"]`},
		{[][]dataset.Slot{{slot("a", 1)}, {slot("b", 1)}}, `line 2: slot 1 is "b", and "a" in the first sample`},
		{[][]dataset.Slot{{{Name: "a", Ints: []int64{1}, Floats: []float32{1}}}}, `slot "a" has two of Ints, IDs and Floats`},
	} {
		n := 0
		g := dataset.MultiSlotDataGenerator{Generate: func(_ string, emit func(...dataset.Slot) error) error {
			n++
			return emit(c.samples[n-1]...)
		}}
		err := g.Run(strings.NewReader(strings.Repeat("x\n", len(c.samples))), &strings.Builder{})
		if err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%v, want %q", err, c.words)
		}
	}
	g := dataset.MultiSlotDataGenerator{Generate: func(string, func(...dataset.Slot) error) error { return broken }}
	if err := g.Run(strings.NewReader("x"), &strings.Builder{}); !errors.Is(err, broken) {
		t.Errorf("%v, want what Generate returned", err)
	}
	g.Generate = nil
	if err := g.RunFromStdin(); !errors.Is(err, dataset.ErrOption) {
		t.Errorf("without a function: %v", err)
	}
}
