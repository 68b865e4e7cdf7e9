// Package runs reads the files that a training job leaves for people who compare jobs: its flags (run.json) and its
// history (history.csv). Package fleet/train writes both.
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

// File is the name of the file about a job, in the job's output directory, and History that of its history.
const (
	File    = "run.json"
	History = "history.csv"
)

// About is the description of a job.
type About struct {
	Program string `json:"program"`
	Servers int    `json:"servers"`
	Workers int    `json:"workers"`
	// Flags are the values of all flags of the program except those that name secrets.
	Flags map[string]string `json:"flags"`
	// Falling are the columns of the history whose smaller values are better; in others larger values are better.
	Falling []string `json:"falling"`
	// Labels are sums over the labels that the job has trained on.
	Labels []float64 `json:"labels,omitempty"`
	// Signature has the format of the rows that the job has trained on.
	Signature json.RawMessage `json:"signature,omitempty"`
}

// Secret reports whether a name, such as of a flag or of a variable of the environment, is of a secret, which must not
// be shown.
func Secret(name string) bool {
	words := strings.FieldsFunc(strings.ToUpper(name), func(c rune) bool { return c == '_' || c == '-' || c == '.' })
	return slices.ContainsFunc(words, func(word string) bool { // passes over data, or how many keys, are shown
		return slices.ContainsFunc(secrets, func(secret string) bool { return strings.HasSuffix(word, secret) })
	})
}

// secrets are the ends of words in such names, after other letters or alone, as in apikey.
var secrets = []string{"TOKEN", "SECRET", "SECRETS", "PASS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE",
	"PASSCODE", "KEY", "CREDENTIAL", "CREDENTIALS"}

// Write writes the description into a job's output directory, and makes that if it does not exist.
func (a About) Write(dir string) error {
	if err := files.MakeDirs(dir); err != nil {
		return err
	}
	return files.Write(files.Join(dir, File), func(to io.Writer) error {
		e := json.NewEncoder(to)
		e.SetIndent("", "  ")
		return e.Encode(a)
	})
}

// Run is a job as recorded in its output directory.
type Run struct {
	Dir     string
	About   About    // empty if there is none
	Columns []string // of the history, in its order
	Rows    []map[string]float64
}

// Read reads a job's directory. It returns an error if there is no history.
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
		return r, fmt.Errorf("%s is not a history with an evaluation: %w", file.Name(), cmpErr(err))
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

// cmpErr is the error for a file that can be read but has other content.
func cmpErr(err error) error {
	if err == nil {
		return errors.New("its first line has to begin with epoch, and another to follow")
	}
	return err
}

// Best returns the row with the best value of a column, the first of equals; nil if no row has a value.
func (r Run) Best(column string) (best map[string]float64) {
	for _, row := range r.Rows {
		v, has := row[column]
		if has && (best == nil || r.Better(column, v, best[column])) {
			best = row
		}
	}
	return best
}

// Better reports whether a is better than b in a column. Without a description of the job, columns named as a loss or
// an error fall.
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
