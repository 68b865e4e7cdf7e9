package kernels

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// word is an instruction that Go's assembler has no name for: a macro with its operands, its word, and its text for binutils.
var word = regexp.MustCompile(`(?m)^#define (\w+)\(([a-z, ]+)\) +WORD \$\((.*)\) +// (.*)$`)

var writeWords = flag.Bool("words", false, "write testdata/words.txt, by aarch64-linux-gnu-as of Debian's binutils-aarch64-linux-gnu")

// TestWords: words of arm64 are what binutils make of the comments behind them, with three draws of operands each. What they make of
// them stands in testdata/words.txt, which -words writes and a machine that has them holds to them again.
func TestWords(t *testing.T) {
	const kept = "testdata/words.txt"
	var text strings.Builder
	var lines []string
	var words []uint32
	r := rand.New(rand.NewPCG(37, 38))
	for _, file := range []string{"neon_arm64.h", "../../optimizer/neon_arm64.h"} {
		header, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := word.FindAllStringSubmatch(string(header), -1)
		if len(found) != strings.Count(string(header), "WORD") {
			t.Fatalf("%s has %d words with a comment, of %d", file, len(found), strings.Count(string(header), "WORD"))
		}
		for _, m := range found {
			for range 3 {
				value, said := drawWord(t, r, m[2], m[3], m[4])
				words, lines = append(words, value), append(lines, said)
				fmt.Fprintln(&text, said)
			}
		}
	}
	got, err := os.ReadFile(kept)
	if _, has := exec.LookPath("aarch64-linux-gnu-as"); has == nil {
		made := assemble(t, text.String())
		if *writeWords {
			got, err = made, os.WriteFile(kept, made, 0o644)
		}
		if !bytes.Equal(got, made) {
			t.Errorf("%s is not what binutils make: see -words", kept)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	made := strings.Split(strings.TrimSpace(string(got)), "\n")
	if len(made) != len(words) {
		t.Fatalf("there are %d instructions, and %d in %s: see -words", len(words), len(made), kept)
	}
	for i, want := range words {
		if header := fmt.Sprintf("%08x %s", want, lines[i]); made[i] != header {
			t.Errorf("the header has %s, binutils %s", header, made[i])
		}
	}
}

// drawWord gives operands numbers, and returns the word and the text that they make.
func drawWord(t *testing.T, r *rand.Rand, operands, sum, said string) (uint32, string) {
	t.Helper()
	for _, name := range strings.Split(operands, ", ") {
		n := strconv.Itoa(r.IntN(32))
		if name == "e" {
			n = strconv.Itoa(r.IntN(4))
		}
		sum = strings.ReplaceAll(sum, "("+name+")", n)
		said = strings.ReplaceAll(said, "["+name+"]", "["+n+"]")
		said = regexp.MustCompile(`\b`+name+`(\.\d|\.s\[)`).ReplaceAllString(said, "v"+n+"$1")
		said = strings.ReplaceAll(said, "s_"+name, "s"+n)
	}
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, sum)
	if err != nil {
		t.Fatal(err)
	}
	value, err := strconv.ParseUint(v.Value.ExactString(), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(value), said
}

// assemble returns a line for each instruction of a text: its word, and its text.
func assemble(t *testing.T, text string) []byte {
	t.Helper()
	dir := t.TempDir()
	object, code := filepath.Join(dir, "words.o"), filepath.Join(dir, "words.bin")
	as := exec.Command("aarch64-linux-gnu-as", "-o", object, "-")
	as.Stdin = strings.NewReader(text)
	for _, cmd := range []*exec.Cmd{as, exec.Command("aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", object, code)} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s\n%s", cmd, err, out, text)
		}
	}
	got, err := os.ReadFile(code)
	said := strings.Split(strings.TrimSpace(text), "\n")
	if err != nil || len(got) != 4*len(said) {
		t.Fatalf("%d instructions became %d bytes, error %v", len(said), len(got), err)
	}
	var all bytes.Buffer
	for i, s := range said {
		fmt.Fprintf(&all, "%08x %s\n", binary.LittleEndian.Uint32(got[4*i:]), s)
	}
	return all.Bytes()
}
