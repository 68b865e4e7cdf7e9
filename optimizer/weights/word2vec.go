package weights

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
)

// Word2Vec is the format of word2vec, gensim's KeyedVectors and fastText: a line with the number of words and the
// dimension, then the words, each with its numbers. The zero value is the binary form, in which the numbers are
// float32.
type Word2Vec struct {
	// Text selects the text form, with a line for each word. GloVe's format, which lacks the first line, is read too.
	Text bool
	// Words has the word of each id: the word of id 3 is Words[3]. No word may be that of two ids. An id without a word
	// can't be written, and words of a file that are not in Words are skipped on reading. Nil means that a word is the
	// id in decimal.
	Words []string
}

// Write writes rows by ascending id. Rows are kept in a temporary file until all have been read (see os.TempDir), since
// their number is written first.
func (f Word2Vec) Write(w io.Writer, rows iter.Seq2[Row, error]) error {
	return spooled(fmt.Sprintf("writing %v", f), rows, func(s *spool) error { return f.write(w, s) })
}

func (f Word2Vec) write(w io.Writer, s *spool) error {
	if _, err := f.ids(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(out, "%d %d\n", len(s.ids), s.dim) // out keeps the error
	var line []byte
	err := s.pages(func(ids []uint64, rows []byte) error {
		for i, id := range ids {
			word, err := f.word(id)
			if err != nil {
				return err
			}
			line = f.appendRow(line[:0], word, rows[i*4*s.dim:][:4*s.dim])
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, out.Flush())
}

// appendRow appends a word and its numbers, given as bytes.
func (f Word2Vec) appendRow(b []byte, word string, row []byte) []byte {
	b = append(b, word...)
	if !f.Text {
		return append(append(append(b, ' '), row...), '\n')
	}
	for ; len(row) > 0; row = row[4:] {
		b = appendFloat(append(b, ' '), math.Float32frombits(binary.LittleEndian.Uint32(row)))
	}
	return append(b, '\n')
}

// word returns the word of an id, with an error if the format can't hold it.
func (f Word2Vec) word(id uint64) (string, error) {
	if f.Words == nil {
		return strconv.FormatUint(id, 10), nil
	}
	if id >= uint64(len(f.Words)) {
		return "", fmt.Errorf("the row of id %d has no word: Words has %d", id, len(f.Words))
	}
	word := f.Words[id]
	if word == "" || len(word) > maxWord || strings.ContainsAny(word, " \n") {
		return "", fmt.Errorf("word %.100q of id %d: a word has between 1 and %d bytes, no space and no line end", word,
			id, maxWord)
	}
	return word, nil
}

// ids returns the ids of Words.
func (f Word2Vec) ids() (map[string]uint64, error) {
	ids := map[string]uint64{}
	for i, word := range f.Words {
		if first, twice := ids[word]; twice && word != "" {
			return nil, fmt.Errorf("Words has %.100q for the ids %d and %d: want each word once", word, first, i)
		}
		ids[word] = uint64(i)
	}
	return ids, nil
}

// maxWord bounds the bytes of a word.
const maxWord = 1 << 16

func (f Word2Vec) String() string {
	if f.Text {
		return "word2vec's text"
	}
	return "word2vec's binary form"
}

// Read reads rows in the order of the file.
func (f Word2Vec) Read(r io.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		ids, err := f.ids()
		if err != nil {
			yield(Row{}, fmt.Errorf("weights: reading %v: %w", f, err))
			return
		}
		var refused error
		err = f.each(r, func(word []byte, w []float32) error {
			id, known := ids[string(word)]
			if f.Words == nil {
				if id, refused = strconv.ParseUint(string(word), 10, 64); refused != nil {
					return fmt.Errorf("word %.100q is not an id: give Words, such as those of ReadWords", word)
				}
			} else if !known {
				return nil
			}
			if !yield(Row{id, w}, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(Row{}, fmt.Errorf("weights: reading %v: %w", f, err))
		}
	}
}

// ReadWords reads only the words, in the order of the file. Used as Words, they give the first row id 0, and so on.
func (f Word2Vec) ReadWords(r io.Reader) ([]string, error) {
	var words []string
	err := f.each(r, func(word []byte, _ []float32) error {
		words = append(words, string(word))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("weights: reading words of %v: %w", f, err)
	}
	return words, nil
}

// each calls do with each word and its numbers.
func (f Word2Vec) each(r io.Reader, do func(word []byte, w []float32) error) error {
	if f.Text {
		return eachLine(r, do)
	}
	in := bufio.NewReaderSize(r, maxWord+2)
	count, dim, err := readCounts(in)
	if err != nil {
		return err
	}
	row, w := make([]byte, 4*dim), make([]float32, dim)
	for i := range count {
		word, err := readWord(in)
		if err == nil {
			_, err = io.ReadFull(in, row)
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return fmt.Errorf("it ends in word %d of %d: %w", i+1, count, io.ErrUnexpectedEOF)
		}
		if err == nil {
			_, err = binary.Decode(row, binary.LittleEndian, w)
		}
		if err == nil {
			err = do(word, w)
		}
		if err != nil {
			return err
		}
	}
	return checkRest(in, count)
}

// readCounts reads the first line.
func readCounts(in *bufio.Reader) (count, dim int, err error) {
	line, err := in.ReadSlice('\n')
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err == nil || err == bufio.ErrBufferFull {
		var ok bool
		if count, dim, ok = counts(line); !ok {
			return 0, 0, fmt.Errorf("its first line is %.100q, and not the numbers of words and of each's numbers",
				line)
		}
	}
	if err == nil && count > 0 {
		err = checkDim(dim)
	}
	return count, max(0, dim), err
}

// counts returns the two numbers of a first line, if the line is one.
func counts(line []byte) (count, dim int, ok bool) {
	fields := bytes.Fields(line)
	if len(fields) != 2 {
		return 0, 0, false
	}
	count, err := strconv.Atoi(string(fields[0]))
	if err != nil {
		return 0, 0, false
	}
	dim, err = strconv.Atoi(string(fields[1]))
	return count, dim, err == nil && count >= 0
}

// readWord reads up to the next space, and skips a line end of the row before, which some programs write. The word is
// valid until the next read of in; do gets a copy, since the row after the word may be that read.
func readWord(in *bufio.Reader) ([]byte, error) {
	word, err := in.ReadSlice(' ')
	if err == bufio.ErrBufferFull {
		return nil, fmt.Errorf("a word of more than %d bytes, %.20q…: is the file binary, with as many numbers a word "+
			"as it says?", maxWord, word)
	}
	if err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimLeft(word[:len(word)-1], "\n")), nil
}

// checkRest returns an error for anything but a line end after the last row.
func checkRest(in io.Reader, count int) error {
	rest, err := io.ReadAll(io.LimitReader(in, 3))
	if err == nil && len(bytes.TrimRight(rest, "\r\n")) > 0 {
		err = fmt.Errorf("it continues after its %d words", count)
	}
	return err
}

// eachLine is each for the text form.
func eachLine(r io.Reader, do func(word []byte, w []float32) error) error {
	in, t, number := lines(r), textForm{count: -1}, 0
	for in.Scan() {
		number++
		line := bytes.TrimRight(in.Bytes(), " \r")
		if count, dim, ok := counts(line); ok && number == 1 {
			t.count, t.dim = count, dim
			continue
		}
		word, err := t.row(line)
		if err == nil {
			err = do(word, t.w)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("line %d: %w", number+1, err)
	}
	if t.rows < t.count {
		return fmt.Errorf("it ends after %d of %d words: %w", t.rows, t.count, io.ErrUnexpectedEOF)
	}
	return nil
}

// textForm is a file of lines that is being read.
type textForm struct {
	count, dim int // from the first line; a count of -1 means that there is none, and rows up to the file's end
	rows       int // so far
	w          []float32
}

// row parses a line into w.
func (t *textForm) row(line []byte) (word []byte, err error) {
	word, numbers, _ := bytes.Cut(line, []byte(" "))
	if t.w, err = parseFloats(t.w[:0], bytes.SplitSeq(numbers, []byte(" "))); err != nil {
		return nil, fmt.Errorf("word %.100q: %w", word, err)
	}
	if t.rows++; t.rows == 1 && t.count < 0 {
		t.dim = len(t.w)
	}
	if len(t.w) != t.dim {
		return nil, fmt.Errorf("word %.100q has %d numbers, %d were to come", word, len(t.w), t.dim)
	}
	if t.count >= 0 && t.rows > t.count {
		return nil, fmt.Errorf("word %.100q comes after the %d words that the first line announces", word, t.count)
	}
	return word, nil
}
