// Package runs reads what a training job leaves of itself for people who compare jobs: which flags it had (run.json),
// and how it went (history.csv). Package fleet/train writes both.
package runs

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/internal/files"
)

// File is the name of what a job says of itself, in the directory of what it leaves, beside History.
const (
	File    = "run.json"
	History = "history.csv"
)

// About is what a job says of itself.
type About struct {
	Program string `json:"program"`
	Servers int    `json:"servers"`
	Workers int    `json:"workers"`
	// Flags are the values of all flags of the program but the ones that name secrets.
	Flags map[string]string `json:"flags"`
	// Falling are the columns of the history that are better the smaller they are; others are better the larger.
	Falling []string `json:"falling"`
}

// Secret says whether a name is of something that is not to be shown, such as a flag or a variable of the environment.
func Secret(name string) bool {
	words := strings.FieldsFunc(strings.ToUpper(name), func(c rune) bool { return c == '_' || c == '-' || c == '.' })
	return slices.ContainsFunc(words, func(word string) bool { // passes over data, or how many keys, are shown
		return slices.ContainsFunc(secrets, func(secret string) bool { return strings.HasSuffix(word, secret) })
	})
}

// secrets are what words of such names end with, after others or alone, as in apikey.
var secrets = []string{"TOKEN", "SECRET", "SECRETS", "PASS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE",
	"PASSCODE", "KEY", "CREDENTIAL", "CREDENTIALS"}

// Write writes it into the directory of what a job leaves.
func (a About) Write(dir string) error {
	return files.Write(files.Join(dir, File), func(to io.Writer) error {
		e := json.NewEncoder(to)
		e.SetIndent("", "  ")
		return e.Encode(a)
	})
}

// Run is a job as it has left itself.
type Run struct {
	Dir     string
	About   About    // nothing where an earlier version has left none
	Columns []string // of the history, in its order
	Rows    []map[string]float64
}

// Read reads a job's directory. One without a history is an error.
func Read(dir string) (r Run, err error) {
	r.Dir = dir
	text, err := os.ReadFile(filepath.Join(dir, File))
	if err == nil {
		err = json.Unmarshal(text, &r.About)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("%s: %w", filepath.Join(dir, File), err)
	}
	file, err := os.Open(filepath.Join(dir, History))
	if err != nil {
		return r, fmt.Errorf("%s has no history: %w", dir, err)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil || len(lines) < 2 || len(lines[0]) < 3 || lines[0][0] != "epoch" {
		return r, fmt.Errorf("%s is no history with an evaluation in it: %w", file.Name(), cmpErr(err))
	}
	r.Columns = lines[0]
	for _, line := range lines[1:] {
		row := map[string]float64{}
		for i, field := range line {
			if v, err := strconv.ParseFloat(field, 64); err == nil && !math.IsNaN(v) {
				row[r.Columns[i]] = v
			}
		}
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

// cmpErr is an error for a file that can be read, and has something else in it.
func cmpErr(err error) error {
	if err == nil {
		return errors.New("its first line has to begin with epoch, and another to follow")
	}
	return err
}

// Best is the row that is best by a column, the first of equals; nil where none has it.
func (r Run) Best(column string) (best map[string]float64) {
	for _, row := range r.Rows {
		v, has := row[column]
		if has && (best == nil || r.Better(column, v, best[column])) {
			best = row
		}
	}
	return best
}

// Better says whether a is better than b in a column. A history of an earlier version does not say which are: what is
// called a loss or an error falls.
func (r Run) Better(column string, a, b float64) bool {
	falls := false
	for _, f := range r.About.Falling {
		falls = falls || f == column
	}
	if r.About.Falling == nil {
		for _, word := range []string{"loss", "error", "mae", "mse", "rmse"} {
			falls = falls || strings.Contains(strings.ToLower(column), word)
		}
	}
	if falls {
		return a < b
	}
	return a > b
}
