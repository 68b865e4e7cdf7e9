package weights_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/gofleet/gofleet/optimizer/weights"
)

// Vectors of words, as word2vec, gensim, GloVe and fastText write them, come in by the ids of one's own vocabulary, and go out as text.
func ExampleWord2Vec() {
	file := strings.NewReader("3 2\nthe 0.1 0.2\ncat -1 0.5\ndog -1.5 0.25\n")
	in := weights.Word2Vec{Text: true, Words: []string{"dog", "cat"}}
	if err := weights.WriteText(os.Stdout, in.Read(file)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1	-1,0.5
	// 0	-1.5,0.25
}
