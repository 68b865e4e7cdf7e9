package train

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/files"
)

// partMark is between the name of a day and the number of a part of it, which is trained before the day is complete:
// 0412~01. No day's name has it.
const partMark = "~"

// dayOf is the day of which name is a part, and the part's number.
func dayOf(name string) (day string, n int, is bool) {
	day, number, is := strings.Cut(name, partMark)
	n, err := strconv.Atoi(number)
	return day, n, is && err == nil
}

// parts are the number of parts of a day so far, and their files.
func (d *days) parts(day string) (n int, had []dayFile, err error) {
	for i, e := range slices.Backward(d.known) {
		of, n, is := dayOf(e.Name)
		if !is || of != day {
			continue
		}
		l, err := d.read(d.begun-len(d.known)+i, e)
		if err != nil {
			return 0, nil, err
		}
		return n, append(l.Had, l.Files...), nil
	}
	return 0, nil, nil
}

// part finds the next part of a day that is not complete, nil if there is none yet: the files of no earlier part that
// have kept their sizes for half of Every, once one of them has for all of it.
func (d *days) part(day string) (*Day, []string, error) {
	if d.Every == 0 || d.since == nil { // or it is read ahead
		return nil, nil, nil
	}
	n, _, err := d.parts(day)
	if err != nil {
		return nil, nil, err
	}
	_, paths, err := d.filesIn(Day{Name: day})
	if err != nil {
		return nil, nil, err
	}
	var stand []string
	due := false
	for _, path := range paths {
		st, err := files.Stat(path)
		if err != nil {
			return nil, nil, nil // it was renamed, and is looked for again
		}
		if f, known := d.came[path]; !known || f.bytes != st.Size() {
			d.came[path] = arrival{st.Size(), time.Now()}
		}
		if age := time.Since(d.came[path].at); age >= d.Every/2 {
			stand, due = append(stand, path), due || age >= d.Every
		}
	}
	if !due {
		return nil, nil, nil
	}
	return &Day{Name: fmt.Sprintf("%s%s%02d", day, partMark, n+1), Within: true}, stand, nil
}

// arrival is when a file was first seen with its size.
type arrival struct {
	bytes int64
	at    time.Time
}

// outgrown are files of a day's earlier parts that have grown since, with the reasons why that is damage.
func outgrown(had []dayFile) map[string]string {
	all := map[string]string{}
	for _, f := range had {
		if st, err := files.Stat(f.Path); err == nil && st.Size() > f.Bytes {
			all[f.Path] = fmt.Sprintf("%d bytes have come since the first %d were trained: write a file under a name "+
				"that begins with \".\", and rename it when it is whole", st.Size()-f.Bytes, f.Bytes)
		}
	}
	return all
}
