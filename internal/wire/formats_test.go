package wire

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Frames of earlier builds are in archives of package fleet, whose test formats_test.go wrote them; journals have such
// frames too. What is in them lies in testdata of this package, and is written once:
//
//	go test ./internal/wire -run TestFormatsOfFrames -write-frames
var writeFrames = flag.Bool("write-frames", false,
	"TestFormatsOfFrames writes down what is in frames of which that is not known")

// TestFormatsOfFrames reads requests and answers of every op, with sections of every kind, from every build since they
// are kept. A frame of another version is read in journals only.
func TestFormatsOfFrames(t *testing.T) {
	archives, err := filepath.Glob("../../fleet/testdata/formats-*.zip")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no formats in testdata (%v)", err)
	}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".zip")
		t.Run(name, func(t *testing.T) { checkFrames(t, archive, filepath.Join("testdata", name+".txt")) })
	}
}

func checkFrames(t *testing.T, archive, known string) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open("frames.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var frames []struct {
		What  string
		Bytes []byte
	}
	if err := json.NewDecoder(f).Decode(&frames); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	ops, kinds := map[Op]bool{}, map[Kind]bool{}
	for _, is := range frames {
		var f Frame
		if err := f.Parse(is.Bytes); is.Bytes[4] != version && !errors.Is(err, ErrVersion) {
			t.Errorf("%s, of version %d: read with %v", is.What, is.Bytes[4], err)
		}
		if err := f.ParseKept(is.Bytes); err != nil { // as journals have them
			t.Fatalf("%s: %v", is.What, err)
		}
		fmt.Fprintf(&all, "%s\n  %s\n", is.What, strings.Replace(fmt.Sprintf("%+v", f.Header), " ServerLife:0", "", 1))
		ops[f.Op] = true
		for _, s := range f.Sections {
			kinds[s.Kind] = true
			fmt.Fprintf(&all, "  %s\n", says(&f, s))
		}
	}
	// later ones
	ends := map[string]Op{"formats-493ea82.txt": OpCut, "formats-cd8fd83.txt": OpCut, "formats-frame3.txt": OpRead}[filepath.Base(known)]
	if ends == 0 {
		ends = opEnd
	}
	for op := Op(1); op < ends; op++ {
		if !ops[op] {
			t.Errorf("no frame is of op %v", op)
		}
	}
	for kind := Kind(1); kind < kindEnd; kind++ {
		if !kinds[kind] {
			t.Errorf("no frame has a section of kind %d", kind)
		}
	}
	if *writeFrames {
		out, err := os.OpenFile(known, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = out.WriteString(all.String())
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(known)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(all.String(), "\n")); diff != "" {
		t.Errorf("frames are read otherwise (-was +is):\n%s", diff)
	}
}

// says is what is in a section; of many floats it is the first, the last and their number.
func says(f *Frame, s Section) string {
	var room []float32
	few := func(v []float32, err error) string {
		if len(v) > 12 {
			return fmt.Sprintf("%v … %v (%d, %v)", v[:6], v[len(v)-6:], len(v), err)
		}
		return fmt.Sprintf("%v (%v)", v, err)
	}
	text := fmt.Sprintf("kind %d of param %d: ", s.Kind, s.Param)
	switch s.Kind {
	case KindDense:
		return text + few(s.DenseIn(&room))
	case KindIDs, KindChanged:
		if s.Kind == KindIDs {
			ids, err := s.IDs(nil)
			text += fmt.Sprint(ids, err)
		}
		return text
	case KindRows:
		if s.bare {
			return text + few(s.Rows())
		}
		ids, err := s.IDs(nil)
		return fmt.Sprint(text, ids, err) + ": " + few(s.RowsIn(&room))
	case KindBlob:
		return fmt.Sprintf("%s%.300q", text, s.Blob())
	case KindPiece:
		p, err := f.Piece()
		return fmt.Sprint(text, p, err)
	case KindSpan:
		from, to, err := f.Span(1 << 30)
		return fmt.Sprint(text, from, to, err)
	case KindClicks:
		return text + few(s.Clicks())
	case KindPosition:
		all, err := f.Positions(nil)
		said := strings.ReplaceAll(fmt.Sprint(all), " }", "}") // of positions without frozen values
		if s.Param != withSteps {
			said = strings.ReplaceAll(said, " 0}", "}") // the steps, which such a section does not have
		}
		return fmt.Sprint(text, said, " ", err)
	}
	return text + "unknown"
}
