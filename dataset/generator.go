package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// Slot is one slot of a generated sample: its name and its values, in one of three forms.
type Slot struct {
	Name   string
	Ints   []int64
	IDs    []uint64
	Floats []float32
}

// MultiSlotDataGenerator converts lines in your own form to multi-slot text, which [MultiSlot] reads. A program around
// it can serve as a PipeCommand:
//
//	func main() {
//		g := dataset.MultiSlotDataGenerator{Generate: func(line string, emit func(...dataset.Slot) error) error {
//			words, label, ok := parse(line)
//			if !ok {
//				return nil // no sample
//			}
//			return emit(dataset.Slot{Name: "words", Ints: words}, dataset.Slot{Name: "label", Ints: label})
//		}}
//		if err := g.RunFromStdin(); err != nil {
//			log.Fatal(err)
//		}
//	}
type MultiSlotDataGenerator struct {
	// Generate calls emit for each sample of a line, which is passed without its line end: none, one or several. All
	// samples must have the same slots in the same order, and no slot may be empty: pad it. Return the error of emit.
	Generate func(line string, emit func(slots ...Slot) error) error
}

// RunFromStdin is Run from standard input to standard output.
func (g MultiSlotDataGenerator) RunFromStdin() error { return g.Run(os.Stdin, os.Stdout) }

// Run reads lines until in ends and writes a line for each sample. Empty lines are skipped. An error names the line.
func (g MultiSlotDataGenerator) Run(in io.Reader, out io.Writer) error {
	if g.Generate == nil {
		return fmt.Errorf("%w MultiSlotDataGenerator.Generate: want a function", ErrOption)
	}
	w := &slotWriter{out: bufio.NewWriter(out)}
	for text := newLines(in); ; {
		line, err := text.next()
		if err == io.EOF {
			return w.out.Flush()
		}
		if err == nil {
			err = g.Generate(string(line), w.write)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("dataset: MultiSlotDataGenerator: line %d: %w", text.number, err),
				w.out.Flush())
		}
	}
}

// slotWriter writes samples and checks that all have the slots of the first.
type slotWriter struct {
	out   *bufio.Writer
	names []string
	line  []byte
}

func (w *slotWriter) write(slots ...Slot) error {
	if err := w.check(slots); err != nil {
		return err
	}
	w.line = w.line[:0]
	for _, s := range slots {
		w.line = strconv.AppendInt(w.line, int64(len(s.Ints)+len(s.IDs)+len(s.Floats)), 10)
		w.line = append(w.line, ' ')
		for _, v := range s.Ints {
			w.line = append(strconv.AppendInt(w.line, v, 10), ' ')
		}
		for _, v := range s.IDs {
			w.line = append(strconv.AppendUint(w.line, v, 10), ' ')
		}
		for _, v := range s.Floats {
			w.line = append(strconv.AppendFloat(w.line, float64(v), 'g', -1, 32), ' ')
		}
	}
	w.line[len(w.line)-1] = '\n'
	_, err := w.out.Write(w.line)
	return err
}

func (w *slotWriter) check(slots []Slot) error {
	if len(slots) == 0 {
		return errors.New("a sample has no slots")
	}
	for _, s := range slots {
		switch {
		case len(s.Ints)+len(s.IDs)+len(s.Floats) == 0:
			return fmt.Errorf("slot %q has no values: pad it, with a 0 for instance", s.Name)
		case s.Ints != nil && s.Floats != nil || s.IDs != nil && (s.Ints != nil || s.Floats != nil):
			return fmt.Errorf("slot %q has two of Ints, IDs and Floats: give one of them", s.Name)
		}
	}
	if w.names == nil {
		for _, s := range slots {
			w.names = append(w.names, s.Name)
		}
	}
	if len(slots) != len(w.names) {
		return fmt.Errorf("the sample has %d slots, the first one %d: %q", len(slots), len(w.names), w.names)
	}
	for i, s := range slots {
		if s.Name != w.names[i] {
			return fmt.Errorf("slot %d is %q, and %q in the first sample", i+1, s.Name, w.names[i])
		}
	}
	return nil
}
