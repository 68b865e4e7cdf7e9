// Package comments has the documentation of Go's standard library, paragraph by paragraph, each with the folder it is
// from: real text, of which a reader can often say where it stands.
package comments

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Classes are the folders.
var Classes = []string{"crypto", "database", "debug", "encoding", "go", "math", "net", "os", "runtime", "testing"}

// Height is above the ids of all words. Padding is no word, and Unknown any that is rare.
const (
	Height  = 4000
	Padding = 0
	Unknown = 1
)

//go:embed comments.gz
var packed []byte

// Comment is a paragraph.
type Comment struct {
	Class int
	Words []string // in lower case
}

// All are all paragraphs.
var All = sync.OnceValues(read)

func read() (all []Comment, err error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	for line := range strings.Lines(string(text)) {
		folder, paragraph, _ := strings.Cut(line, "\t")
		class := slices.Index(Classes, folder)
		if class < 0 {
			return nil, errors.Join(err, fmt.Errorf("comments: no class %q", folder))
		}
		all = append(all, Comment{class, words(paragraph)})
	}
	return all, err
}

// words are runs of letters and digits.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) &&
			!unicode.IsDigit(r)
	})
}

// Vocabulary gives the most frequent words of paragraphs ids from 2 on, below Height.
func Vocabulary(of []Comment) map[string]int64 {
	count := map[string]int{}
	for _, c := range of {
		for _, w := range c.Words {
			count[w]++
		}
	}
	list := make([]string, 0, len(count))
	for w, n := range count {
		if n > 1 {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
	ids := map[string]int64{}
	for i, w := range list[:min(len(list), Height-2)] {
		ids[w] = int64(i) + 2
	}
	return ids
}
