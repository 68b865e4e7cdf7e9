package dataset

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/gofleet/gofleet/internal/tokens"
)

// Criteo is the raw form of the Criteo display advertising data: label, 13 counts (I1–I13), 26 tokens (C1–C26), tab
// separated; an empty count or token is missing. The columns are
//
//	dense_input [N,13] float32    the counts, scaled by Dense; 0 if missing
//	C           [N,26] int64      HashID("0", C1) … HashID("25", C26), below Height; a missing token is hashed as ""
//	label       [N,1]  float32    0 or 1
type Criteo struct {
	// Dense is the scaling of counts; MinMax by default.
	Dense CriteoDense
	// Height is the number of ids, at most 2³²; 1,000,001 when 0.
	Height int64
}

// CriteoDense is a scaling of [Criteo]'s counts.
type CriteoDense int

const (
	// MinMax is (x − min) / diff with the fixed min and diff of the wide & deep example; it is above 1 if x is above
	// the example's maximum.
	MinMax CriteoDense = iota
	// Log1p is ln(1 + max(x, 0)).
	Log1p
)

const (
	criteoCounts = 13
	criteoTokens = 26
	criteoHeight = 1_000_001
)

var (
	criteoMin  = [criteoCounts]float32{0, -3}
	criteoDiff = [criteoCounts]float32{20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50}
)

// Columns returns dense_input, C and label.
func (c Criteo) Columns() ([]Column, error) {
	if c.Height < 0 || c.Height > maxHash {
		return nil, fmt.Errorf("%w Criteo.Height is %d: want 1 to %d, or 0 for %d", ErrOption, c.Height, int64(maxHash),
			criteoHeight)
	}
	if c.Dense != MinMax && c.Dense != Log1p {
		return nil, fmt.Errorf("%w Criteo.Dense is %d: want MinMax or Log1p", ErrOption, c.Dense)
	}
	return []Column{Floats("dense_input", criteoCounts), Ints("C", criteoTokens), Floats("label")}, nil
}

// NewParser returns a parser of Criteo's lines.
func (c Criteo) NewParser() (Parser, error) {
	if _, err := c.Columns(); err != nil {
		return nil, err
	}
	p := &criteoParser{log: c.Dense == Log1p}
	if c.Height == 0 {
		c.Height = criteoHeight
	}
	for i := range p.hash {
		p.hash[i] = tokens.NewHasher(strconv.Itoa(i), c.Height)
	}
	return p, nil
}

type criteoParser struct {
	log  bool
	hash [criteoTokens]tokens.Hasher
}

func (p *criteoParser) ParseLine(line []byte, row Row) error {
	if n := bytes.Count(line, tab) + 1; n != 1+criteoCounts+criteoTokens {
		return badCount("count", 1+criteoCounts+criteoTokens, n, "fields between tabs")
	}
	label, line := cutTab(line)
	if len(label) != 1 || label[0]&^1 != '0' {
		return badField("label", "0 or 1", label)
	}
	row.Floats(2)[0] = float32(label[0] - '0')
	var field []byte
	dense := row.Floats(0)
	for i := range dense {
		field, line = cutTab(line)
		if len(field) == 0 {
			continue
		}
		x, ok := parseFloat(field)
		if !ok {
			return badField("I"+strconv.Itoa(i+1), floatKind.want(field)+", or nothing", field)
		}
		dense[i] = p.scale(i, x)
	}
	ids := row.Ints(1)
	for i := range ids {
		field, line = cutTab(line)
		ids[i] = p.hash[i].ID(field)
	}
	return nil
}

var tab = []byte{'\t'}

// cutTab divides a line at its first tab; fields are so short that a call for each would take longer.
func cutTab(line []byte) (field, rest []byte) {
	for i, c := range line {
		if c == '\t' {
			return line[:i], line[i+1:]
		}
	}
	return line, nil
}

// logs are ln(1 + n) of the counts that are the most frequent.
var logs = func() (all [1 << 10]float32) {
	for n := range all {
		all[n] = float32(math.Log1p(float64(n)))
	}
	return all
}()

func (p *criteoParser) scale(i int, x float32) float32 {
	if n := int(max(x, 0)); p.log && n < len(logs) && float32(n) == x {
		return logs[n]
	}
	if p.log {
		return float32(math.Log1p(max(float64(x), 0)))
	}
	return (x - criteoMin[i]) / criteoDiff[i]
}
