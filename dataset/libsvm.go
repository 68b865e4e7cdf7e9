package dataset

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
)

// LibSVM is the text format of LIBSVM, XGBoost and many data sets: each line has a label and index:value pairs
// separated by blanks.
//
//	+1 qid:7 3:0.5 17:1 # what follows a # is a comment
//
// With Features rows become
//
//	x     [N,Features] float32   values by index, which counts from 1; 0 where there is none
//	label [N,1]        float32
//
// and without, for indices of any number,
//
//	ids    varying int64         the indices as they stand there
//	values varying float32       the values beside them
//	label  [N,1]   float32
//
// and with Groups, after label,
//
//	qid    [N,1]   int64          the group of a row, such as the query of a document
//
// which is passed over without it.
type LibSVM struct {
	// Features is the number of features, the largest permitted index.
	Features int
	// ZeroBased is for indices that count from 0; it needs Features.
	ZeroBased bool
	// Binary is for labels of two classes: −1 and 1, or 0 and 1, become 0 and 1; others are errors. By default labels
	// are not changed.
	Binary bool
	// Groups adds the column qid; a line without one is an error.
	Groups bool
}

// Columns returns x, or ids and values, label, and with Groups qid.
func (f LibSVM) Columns() (columns []Column, err error) {
	switch {
	case f.Features < 0:
		return nil, fmt.Errorf("%w LibSVM.Features is %d: want 1 or more, or 0 for ids and values", ErrOption,
			f.Features)
	case f.Features == 0 && f.ZeroBased:
		return nil, fmt.Errorf("%w LibSVM.ZeroBased: without Features indices are ids as they stand there", ErrOption)
	case f.Features == 0:
		columns = []Column{Varying(Ints("ids")), Varying(Floats("values")), Floats("label")}
	default:
		columns = []Column{Floats("x", f.Features), Floats("label")}
	}
	if f.Groups {
		columns = append(columns, Ints("qid"))
	}
	return columns, nil
}

// NewParser returns a parser of such lines.
func (f LibSVM) NewParser() (Parser, error) {
	columns, err := f.Columns()
	label := slices.IndexFunc(columns, func(c Column) bool { return c.Name == "label" })
	return &libsvmParser{f, label, false}, err
}

type libsvmParser struct {
	LibSVM
	label   int  // the column of the label
	grouped bool // the line has a qid
}

// passes reports whether a line is a comment, or blank.
func (p *libsvmParser) passes(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) == 0 || line[0] == '#'
}

func (p *libsvmParser) ParseLine(line []byte, row Row) error {
	if i := bytes.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	word, line := nextWord(line)
	label, ok := parseFloat(word)
	if p.Binary && label == -1 {
		label = 0
	}
	switch {
	case !ok:
		return badField("label", floatKind.want(word), word)
	case p.Binary && label != 0 && label != 1:
		return badField("label", "-1, 0 or 1", word)
	}
	row.Floats(p.label)[0], p.grouped = label, false
	for {
		if word, line = nextWord(line); len(word) == 0 && p.Groups && !p.grouped {
			return badField("qid", "qid:N, the group of the row", nil)
		} else if len(word) == 0 {
			return nil
		}
		if err := p.feature(word, row); err != nil {
			return err
		}
	}
}

var qid = []byte("qid")

// group sets the group of a row.
func (p *libsvmParser) group(text []byte, row Row) error {
	if !p.Groups {
		return nil
	}
	id, ok := parseInt(text)
	if !ok {
		return badField("qid", intKind.want(text), text)
	}
	row.Ints(p.label + 1)[0], p.grouped = id, true
	return nil
}

// feature sets the value of a pair.
func (p *libsvmParser) feature(pair []byte, row Row) error {
	index, text, found := bytes.Cut(pair, []byte{':'})
	if bytes.Equal(index, qid) {
		return p.group(text, row)
	}
	i, ok := parseInt(index)
	switch {
	case found && !ok && len(bytes.Trim(index, "0123456789")) == 0 && len(index) > 0:
		return badField("of features", "an index in the range of int64, up to 9223372036854775807", index)
	case !found || !ok || i < 0:
		return badField("of features", "index:value", pair)
	}
	x, ok := parseFloat(text)
	if !ok {
		return badField(strconv.FormatInt(i, 10), floatKind.want(text), text)
	}
	if p.Features == 0 {
		row.AppendInt(0, i)
		row.AppendFloat(1, x)
		return nil
	}
	if !p.ZeroBased {
		i--
	}
	if i < 0 || i >= int64(p.Features) {
		return badField("of features", "an index "+p.bounds(), index)
	}
	row.Floats(0)[i] = x
	return nil
}

func (p *libsvmParser) bounds() string {
	if p.ZeroBased {
		return fmt.Sprintf("from 0 to %d", p.Features-1)
	}
	return fmt.Sprintf("from 1 to %d", p.Features)
}
