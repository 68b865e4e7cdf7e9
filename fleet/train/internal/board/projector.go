package board

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/optimizer/weights"
)

// Table is an embedding for the projector.
type Table struct {
	Name string
	Rows iter.Seq2[weights.Row, error]
	Most int // number of rows
	// Label describes an id; nil means the id alone.
	Label func(id uint64) string
}

// Project writes embeddings into a run's directory: for each a file of vectors and one of their ids, as lines with
// tabs, and projector_config.pbtxt, which names the files.
func Project(dir string, tables []Table) error {
	config := ""
	for i, t := range tables {
		vectors := fmt.Sprintf("embedding_%d.tsv", i)
		about := fmt.Sprintf("embedding_%d.metadata.tsv", i)
		n, err := t.write(filepath.Join(dir, vectors), filepath.Join(dir, about))
		if err != nil {
			return fmt.Errorf("embedding %q for the projector: %w", t.Name, err)
		}
		if n > 0 {
			config += fmt.Sprintf("embeddings {\n  tensor_name: %q\n  tensor_path: %q\n  metadata_path: %q\n}\n",
				t.Name, vectors, about)
		}
	}
	return files.Write(filepath.Join(dir, "projector_config.pbtxt"), func(to io.Writer) error {
		_, err := io.WriteString(to, config)
		return err
	})
}

// write writes the two files of a table, and returns their number of rows.
func (t Table) write(vectors, about string) (n int, err error) {
	err = files.Write(about, func(to io.Writer) error {
		ids := bufio.NewWriter(to)
		if t.Label != nil {
			ids.WriteString("id\tlabel\n") // a single column has no header
		}
		return firstError(files.Write(vectors, func(to io.Writer) error {
			n, err = t.each(bufio.NewWriter(to), ids)
			return err
		}), ids.Flush)
	})
	return n, err
}

func firstError(err error, then func() error) error {
	if err != nil {
		return err
	}
	return then()
}

// each writes the first rows.
func (t Table) each(vectors, ids *bufio.Writer) (n int, err error) {
	var line []byte
	for row, err := range t.Rows {
		if err != nil {
			return n, err
		}
		line = line[:0]
		for i, v := range row.W {
			if i > 0 {
				line = append(line, '\t')
			}
			line = strconv.AppendFloat(line, float64(v), 'g', -1, 32)
		}
		vectors.Write(append(line, '\n'))
		fmt.Fprint(ids, row.ID)
		if t.Label != nil {
			fmt.Fprint(ids, "\t", oneField.Replace(t.Label(row.ID)))
		}
		ids.WriteByte('\n') // Flush returns the error of a failed write
		if n++; n == t.Most {
			break
		}
	}
	return n, vectors.Flush()
}

// oneField keeps a label in one field of one line.
var oneField = strings.NewReplacer("\t", " ", "\n", " ", "\r", " ")
