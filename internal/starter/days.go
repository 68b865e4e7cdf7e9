package starter

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// WriteDays is [Write] for rows that come by the day: the directory days has a directory for each, which is complete
// once a file _SUCCESS is in it. The program is written by a look at the largest file of the last complete day.
func WriteDays(dir, days, label string, separators map[string]string) (*Program, error) {
	file, err := newest(days)
	if err != nil {
		return nil, err
	}
	return begin(dir, &program{data: file, days: days}, label, separators)
}

// newest is the largest file of the last complete day.
func newest(days string) (largest string, err error) {
	entries, err := os.ReadDir(days) // by name
	if err != nil {
		return "", err
	}
	for _, day := range slices.Backward(entries) {
		in := filepath.Join(days, day.Name())
		if _, err := os.Stat(filepath.Join(in, "_SUCCESS")); err != nil || isAbout(day.Name()) {
			continue
		}
		if at := strings.IndexFunc(day.Name(), isOther); at >= 0 {
			return "", fmt.Errorf("%s is named with %q: want names of days of letters, digits and \"._-=\"", in,
				day.Name()[at])
		}
		most := int64(0)
		if in, err = filepath.EvalSymlinks(in); err != nil { // a walk goes through no links
			return "", err
		}
		err := filepath.WalkDir(in, func(path string, e fs.DirEntry, err error) error {
			if err != nil || isAbout(e.Name()) {
				if err == nil && e.IsDir() {
					err = fs.SkipDir
				}
				return err
			}
			st, err := os.Stat(path)
			if err == nil && st.Mode().IsRegular() && st.Size() > most {
				largest, most = path, st.Size()
			}
			return err
		})
		if err != nil || largest != "" {
			return largest, err
		}
	}
	return "", fmt.Errorf("%s has no complete day with rows: want a directory for each day, such as 2024-04-12, with "+
		"files of rows, and, once all are there, an empty file _SUCCESS", days)
}

// isAbout reports whether what has such a name has no rows; isOther, whether no day is named with such a letter.
func isAbout(name string) bool {
	return name[0] == '.' || name[0] == '_' || strings.HasPrefix(name, "README") || strings.HasSuffix(name, ".md")
}

func isOther(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-=", r)
}

// daysMain writes the function main of a program whose rows come by the day.
func (p *program) daysMain(l *lines) {
	l.add(`
func main() {
	o := train.Options{Out: "output", Checkpoint: "output/checkpoints"} // defaults of the flags
	days := flag.String("days", %q, "directory of days, each complete with a file _SUCCESS in it")
	last := flag.String("last", "", "the last day; left out, the job waits for more")
	o.Parse()
	train.Main(&o, func() (train.Job, error) {
		return job(o, train.Days{Dir: *days, Last: *last, Publish: train.Publish{Dir: "output/serving"}}), nil
	})
}
`, p.days)
}

// daysReadme writes what README.md says of it.
func (p *program) daysReadme(l *lines) {
	l.add("    go run . -check                     # look at the first day and the net before training")
	l.add("    go run . -last=DAY                  # train all days up to that one; without -last it waits for more")
	l.add("    go run github.com/gofleet/gofleet/fleet/fleetrun --server_num=2 --worker_num=2 .")
	l.add("    go run github.com/gofleet/gofleet/examples/serve -model=output/serving   # ask it over HTTP; it " +
		"follows the job")
	l.add("")
	l.add("Each day is evaluated before the model has seen it, then trained on once, and a model of its end is " +
		"published in `output/serving`, where `done` says what was done. A job that was ended goes on where it was. " +
		"Rows of categories stay for ever: `Days.Shrink` of `main.go` drops those that are not seen again. What else " +
		"such a program can do: Days in package fleet/train.")
}
